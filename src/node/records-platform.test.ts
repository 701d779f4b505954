import fc from 'fast-check'
import { expect, it } from 'vitest'
import { buildBatch, type RecordInput } from '../records/batch-builder.ts'
import { checkBatch, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import { CODEC_NAMES, codecName } from '../records/compression.ts'
import { RecordsError } from '../records/records-error.ts'
import { nodeRecordsPlatform as platform } from './records-platform.ts'

const int = (min: number, max: number) => fc.integer({ min, max })
const bytes = fc.option(fc.uint8Array({ maxLength: 300, size: 'max' }), { nil: null })
const record = fc.record({
  key: bytes,
  value: bytes,
  timestamp: fc.oneof(int(-5, 5), int(1_700_000_000_000, 1_800_000_000_000)),
  headers: fc.array(fc.record({ key: fc.string({ unit: 'grapheme' }), value: bytes }), { maxLength: 3 }),
})
const input = fc.record({
  records: fc.array(record, { maxLength: 40 }),
  codec: fc.constantFrom(...CODEC_NAMES),
  baseOffset: fc.maxSafeNat().map(offset => Math.floor(offset / 2)),
  partitionLeaderEpoch: int(-1, 2 ** 31 - 1),
  producerId: fc.oneof(fc.constant(-1), fc.maxSafeNat()),
  producerEpoch: int(-1, 32767),
  baseSequence: fc.oneof(fc.constant(-1), int(0, 2 ** 31 - 1), int(2 ** 31 - 20, 2 ** 31 - 1)),
  isTransactional: fc.boolean(),
  isControl: fc.boolean(),
  timestampType: fc.constantFrom('CreateTime' as const, 'LogAppendTime' as const),
  logAppendTime: int(0, 1_800_000_000_000),
})

function timestampOf({ timestamp }: RecordInput, type: string, logAppendTime: number): number {
  return type === 'LogAppendTime' ? logAppendTime : timestamp!
}

it('what was built with any codec is read as it was', () => {
  fc.assert(
    fc.property(input, batchInput => {
      const { records, codec, baseOffset, baseSequence, timestampType, logAppendTime, ...plain } = batchInput
      const batch = buildBatch({ ...batchInput, ...platform })
      checkBatch(batch, 0, platform.crc32c)
      const header = readBatchHeader(batch)
      expect(header).toMatchObject({ ...plain, baseOffset, baseSequence, timestampType })
      expect(header.sizeInBytes).toBe(batch.length)
      expect(header.lastOffset).toBe(baseOffset + records.length - 1)
      expect(codecName(header.codec)).toBe(codec)
      const expected = records.map((one, index) => ({
        ...one,
        timestamp: timestampOf(one, timestampType, logAppendTime),
        offset: baseOffset + index,
        sequence: baseSequence < 0 ? -1 : (baseSequence + index) % 2 ** 31,
      }))
      expect(readRecords(batch, 0, platform)).toEqual(expected)
    }),
    { numRuns: 300 },
  )
})

it('whatever byte of a batch is wrong, reading it fails with a RecordsError or gives records', () => {
  fc.assert(
    fc.property(input, fc.nat(), int(1, 255), (batchInput, place, change) => {
      const batch = buildBatch({ ...batchInput, ...platform })
      batch[place % batch.length] ^= change
      try {
        readRecords(batch, 0, platform, 1_000_000)
      } catch (error) {
        expect(error).toBeInstanceOf(RecordsError)
      }
    }),
    { numRuns: 1000 },
  )
})
