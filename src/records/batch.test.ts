import { describe, expect, it } from 'vitest'
import { concat } from '../util/byte-writer.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { buildBatch } from './batch-builder.ts'
import {
  BATCH_OVERHEAD,
  batchLastOffset,
  batchSize,
  checkBatch,
  eachBatch,
  readBatchHeader,
  refreshCrc,
  setBaseOffset,
  setLastOffsetDelta,
  setMaxTimestamp,
  setPartitionLeaderEpoch,
  setTimestampType,
} from './batch-header.ts'
import { eachRecord, readRecords, recordCursor } from './batch-reader.ts'
import { CompressionError, PURE_PLATFORM } from './compression.ts'
import { crc32cJs } from './crc32c.ts'
import { RecordsError } from './records-error.ts'

const records = [
  { key: utf8Encode('a'), value: utf8Encode('1'), timestamp: 1_700_000_000_010 },
  { key: null, value: utf8Encode('zwei'), timestamp: 1_700_000_000_000, headers: [{ key: 'größe', value: null }] },
  { key: utf8Encode('a'), value: null, timestamp: 1_700_000_000_020, headers: [{ key: '', value: utf8Encode('x') }] },
]

function errorOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof RecordsError) return error.error
    throw error
  }
  return 'NONE'
}

describe('a batch', () => {
  it('has a header that says what was put in', () => {
    const batch = buildBatch({
      records,
      baseOffset: 2 ** 40,
      partitionLeaderEpoch: 7,
      producerId: 2 ** 45,
      producerEpoch: 3,
      baseSequence: 2 ** 31 - 2,
      isTransactional: true,
    })
    expect(readBatchHeader(batch)).toEqual({
      baseOffset: 2 ** 40,
      sizeInBytes: batch.length,
      partitionLeaderEpoch: 7,
      magic: 2,
      crc: crc32cJs(batch, 21, batch.length),
      attributes: 0x10,
      lastOffsetDelta: 2,
      baseTimestamp: 1_700_000_000_010,
      maxTimestamp: 1_700_000_000_020,
      producerId: 2 ** 45,
      producerEpoch: 3,
      baseSequence: 2 ** 31 - 2,
      recordsCount: 3,
      lastOffset: 2 ** 40 + 2,
      codec: 0,
      timestampType: 'CreateTime',
      isTransactional: true,
      isControl: false,
      hasDeleteHorizon: false,
      lastSequence: 0,
    })
    expect(readRecords(batch, 0, PURE_PLATFORM).map(record => record.sequence)).toEqual([2 ** 31 - 2, 2 ** 31 - 1, 0])
  })

  it('gives its records back, with offsets and timestamps', () => {
    const batch = buildBatch({ records, baseOffset: 100 })
    expect(readRecords(batch, 0, PURE_PLATFORM)).toEqual([
      { offset: 100, sequence: -1, headers: [], ...records[0] },
      { offset: 101, sequence: -1, ...records[1] },
      { offset: 102, sequence: -1, ...records[2] },
    ])
  })

  it('is read where it stands in a longer range of bytes, and keys and values are views into it', () => {
    const batch = buildBatch({ records })
    const bytes = concat([utf8Encode('before'), batch, utf8Encode('behind')])
    const [first] = readRecords(bytes, 6, PURE_PLATFORM)
    expect(utf8Decode(first.key!)).toBe('a')
    expect(first.key!.buffer).toBe(bytes.buffer)
  })

  it('without records has no timestamp and ends before it begins', () => {
    const header = readBatchHeader(buildBatch({ records: [], baseOffset: 9 }))
    expect(header).toMatchObject({
      recordsCount: 0,
      lastOffset: 8,
      baseTimestamp: -1,
      maxTimestamp: -1,
      sizeInBytes: 61,
    })
  })

  it('gives all records its maximum timestamp when it has log append time', () => {
    const batch = buildBatch({ records, timestampType: 'LogAppendTime', logAppendTime: 42 })
    expect(readBatchHeader(batch).timestampType).toBe('LogAppendTime')
    expect([...eachRecord(batch, 0, PURE_PLATFORM)].map(record => record.timestamp)).toEqual([42, 42, 42])
  })

  it('keeps record timestamps when the base timestamp holds a delete horizon', () => {
    const batch = buildBatch({ records, deleteHorizonMs: 1_800_000_000_000 })
    expect(readBatchHeader(batch)).toMatchObject({ hasDeleteHorizon: true, baseTimestamp: 1_800_000_000_000 })
    expect(readRecords(batch, 0, PURE_PLATFORM).map(record => record.timestamp)).toEqual(records.map(r => r.timestamp))
  })

  it('wants a codec it has', () => {
    expect(() => buildBatch({ records, codec: 'zstd' })).toThrow(CompressionError)
  })
})

describe('rewriting in place', () => {
  it('changes offset and leader epoch without a new checksum', () => {
    const batch = buildBatch({ records })
    setBaseOffset(batch, 0, 5_000_000_000)
    setPartitionLeaderEpoch(batch, 0, 12)
    checkBatch(batch, 0, crc32cJs)
    expect(readBatchHeader(batch)).toMatchObject({ baseOffset: 5_000_000_000, partitionLeaderEpoch: 12 })
    expect(batchLastOffset(batch, 0)).toBe(5_000_000_002)
  })

  it('needs a new checksum after anything else', () => {
    const bytes = concat([new Uint8Array(3), buildBatch({ records })])
    setMaxTimestamp(bytes, 3, 99)
    setTimestampType(bytes, 3, 'LogAppendTime')
    setLastOffsetDelta(bytes, 3, 8)
    expect(errorOf(() => checkBatch(bytes, 3, crc32cJs))).toBe('CORRUPT_MESSAGE')
    refreshCrc(bytes, 3, crc32cJs)
    checkBatch(bytes, 3, crc32cJs)
    expect(readBatchHeader(bytes, 3)).toMatchObject({ maxTimestamp: 99, timestampType: 'LogAppendTime', lastOffset: 8 })
    setTimestampType(bytes, 3, 'CreateTime')
    expect(readBatchHeader(bytes, 3)).toMatchObject({ timestampType: 'CreateTime', attributes: 0 })
  })
})

describe('splitting', () => {
  const one = buildBatch({ records: records.slice(0, 1) })
  const two = buildBatch({ records })

  it('visits whole batches and says where the partial one begins', () => {
    const bytes = concat([one, two, one.subarray(0, 60)])
    const visited: number[][] = []
    const end = eachBatch(bytes, (at, size) => visited.push([at, size]))
    expect(visited).toEqual([
      [0, one.length],
      [one.length, two.length],
    ])
    expect(end).toBe(one.length + two.length)
    expect(eachBatch(bytes, () => {}, one.length, one.length + two.length - 1)).toBe(one.length)
  })

  it('stops with an error where no batch can be', () => {
    const bytes = concat([one, new Uint8Array(61)])
    let visited = 0
    expect(errorOf(() => eachBatch(bytes, () => visited++))).toBe('CORRUPT_MESSAGE')
    expect(visited).toBe(1)
  })

  it('never reads behind the end: every cut is a partial batch, and no header', () => {
    for (let length = 0; length < one.length; length++) {
      expect(eachBatch(one.slice(0, length), () => expect.unreachable())).toBe(0)
      expect(errorOf(() => readBatchHeader(one.slice(0, length)))).toBe('CORRUPT_MESSAGE')
    }
  })
})

describe('broken content', () => {
  it('is told apart from a broken header and an old format', () => {
    const batch = buildBatch({ records })
    batch[57 + 3] = 4
    expect(errorOf(() => readRecords(batch, 0, PURE_PLATFORM))).toBe('INVALID_RECORD')
    batch[16] = 1
    expect(errorOf(() => readRecords(batch, 0, PURE_PLATFORM))).toBe('INVALID_RECORD')
    batch[16] = 3
    expect(errorOf(() => readRecords(batch, 0, PURE_PLATFORM))).toBe('CORRUPT_MESSAGE')
  })

  it('is found at any bit that the checksum covers', () => {
    const batch = buildBatch({ records })
    for (let at = 17; at < batch.length; at++) {
      for (let bit = 1; bit < 256; bit <<= 1) {
        batch[at] ^= bit
        expect(errorOf(() => checkBatch(batch, 0, crc32cJs))).toBe('CORRUPT_MESSAGE')
        batch[at] ^= bit
      }
    }
  })

  it('never makes anything but a RecordsError, whatever byte is wrong', () => {
    const batch = buildBatch({ records })
    for (let at = BATCH_OVERHEAD; at < batch.length; at++) {
      const right = batch[at]
      for (let wrong = 0; wrong < 256; wrong++) {
        batch[at] = wrong
        errorOf(() => readRecords(batch, 0, PURE_PLATFORM))
      }
      batch[at] = right
    }
  })

  it('comes out record by record, so that the good ones before it are seen', () => {
    const batch = buildBatch({ records })
    const cursor = recordCursor(batch, 0, PURE_PLATFORM)
    cursor.next()
    cursor.next()
    batch[cursor.start] = 0x7f
    const seen: number[] = []
    expect(
      errorOf(() => {
        for (const record of eachRecord(batch, 0, PURE_PLATFORM)) seen.push(record.offset)
      }),
    ).toBe('INVALID_RECORD')
    expect(seen).toEqual([0])
    expect(batchSize(batch, 0)).toBe(batch.length)
  })
})
