import { describe, expect, it } from 'vitest'
import { readBatchHeader } from './batch-header.ts'
import { readRecords } from './batch-reader.ts'
import { PURE_PLATFORM } from './compression.ts'
import { buildEndTransactionMarker, controlType, readEndTransactionMarker } from './control.ts'
import { RecordsError } from './records-error.ts'

const commit = Uint8Array.of(0, 0, 0, 1)
const epoch17 = Uint8Array.of(0, 0, 0, 0, 0, 17)

describe('a transaction marker', () => {
  it('is a batch of one control record that takes one offset and no sequence', () => {
    const batch = buildEndTransactionMarker({
      ...{ type: 'ABORT', coordinatorEpoch: 4, producerId: 4711, producerEpoch: 3, timestamp: 99 },
      ...{ baseOffset: 12, partitionLeaderEpoch: 2 },
    })
    expect(readBatchHeader(batch)).toMatchObject({
      ...{ isTransactional: true, isControl: true, producerId: 4711, producerEpoch: 3, baseSequence: -1 },
      ...{ recordsCount: 1, baseOffset: 12, lastOffset: 12, partitionLeaderEpoch: 2, maxTimestamp: 99 },
    })
    const [{ key, value }] = readRecords(batch, 0, PURE_PLATFORM)
    expect(readEndTransactionMarker(key, value)).toEqual({ type: 'ABORT', coordinatorEpoch: 4 })
  })

  it('may come from a newer Kafka, with more behind it', () => {
    const key = Uint8Array.of(0, 1, 0, 1, 9, 9)
    const value = Uint8Array.of(0, 1, 0, 0, 0, 17, 9)
    expect(readEndTransactionMarker(key, value)).toEqual({ type: 'COMMIT', coordinatorEpoch: 17 })
  })

  it('is not what other control records are', () => {
    expect(readEndTransactionMarker(Uint8Array.of(0, 0, 0, 2), epoch17)).toBeUndefined()
    expect(controlType(Uint8Array.of(0, 0, 0, 6))).toBe('KRAFT_VOTERS')
    expect(controlType(Uint8Array.of(0, 0, 0, 7))).toBe('UNKNOWN')
    expect(controlType(Uint8Array.of(0, 0, 0xff, 0xff))).toBe('UNKNOWN')
  })

  it.each([
    ['no key', null, epoch17],
    ['a short key', Uint8Array.of(0, 0, 0), epoch17],
    ['a negative version of the key', Uint8Array.of(0xff, 0xff, 0, 1), epoch17],
    ['no value', commit, null],
    ['a short value', commit, epoch17.subarray(1)],
    ['a negative version of the value', commit, Uint8Array.of(0xff, 0xff, 0, 0, 0, 17)],
  ])('is refused with %s', (_, key, value) => {
    expect(() => readEndTransactionMarker(key, value)).toThrow(RecordsError)
  })
})
