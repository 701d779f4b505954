import { describe, expect, it } from 'vitest'
import { append, batchOf, errorOf, makeLog, platform, readAll, readTexts } from '../../test/support/log.ts'
import { batchBaseOffset, readBatchHeader, refreshCrc, setAttributes } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import { buildEndTransactionMarker } from '../records/control.ts'
import { concat } from '../util/byte-writer.ts'
import { utf8Encode } from '../util/utf8.ts'
import { ProduceRecordsError, RecordsInvalidError } from './append-error.ts'
import type { Log } from './log.ts'
import type { ReadResult } from './read.ts'

const firstBatchOffset = ({ parts }: ReadResult) => batchBaseOffset(concat(parts), 0)
const NOW = 1_700_000_000_000
const CLIENT = { leaderEpoch: 0, now: NOW, origin: 'client' } as const
const COORDINATOR = { leaderEpoch: 0, now: NOW, origin: 'coordinator' } as const
const ALL = { maxBytes: 1e9, minOneBatch: true, isolation: 'log_end' } as const

describe('append as leader', () => {
  it('gives offsets and the epoch, in the given bytes, and stores those', () => {
    const { log } = makeLog()
    append(log, batchOf(['a', 'b']))
    const batch = batchOf(['c', 'd', 'e'])
    expect(append(log, batch, { leaderEpoch: 4 })).toEqual({
      firstOffset: 2,
      lastOffset: 4,
      lastLeaderEpoch: 4,
      logAppendTime: -1,
      maxTimestamp: NOW,
      shallowOffsetOfMaxTimestamp: 4,
      duplicate: false,
      sizeInBytes: batch.length,
      logStartOffset: 0,
    })
    expect(readBatchHeader(batch)).toMatchObject({ baseOffset: 2, partitionLeaderEpoch: 4 })
    expect(log.read(2, ALL).parts).toEqual([batch])
    expect([log.logEndOffset, log.latestEpoch, log.sizeInBytes]).toEqual([
      5,
      4,
      batchOf(['a', 'b']).length + batch.length,
    ])
  })

  it('copies: the given bytes may be used for something else at once', () => {
    const { log } = makeLog()
    const batch = batchOf(['a'])
    append(log, batch)
    batch.fill(0xff)
    expect(readTexts(log)).toEqual(['0:a'])
  })

  it('stamps the batch with the time of the append where the topic says so', () => {
    const { log } = makeLog({ messageTimestampType: 'LogAppendTime' })
    for (const codec of ['none', 'gzip'] as const) {
      const result = append(log, batchOf([{ timestamp: 5 }, { timestamp: 9 }], { codec }), { now: NOW + 7 })
      expect(result).toMatchObject({ logAppendTime: NOW + 7, maxTimestamp: NOW + 7 })
    }
    expect(readAll(log, 0).map(record => record.timestamp)).toEqual(Array(4).fill(NOW + 7))
  })

  it('clears attributes that nobody knows when it must change them, and only then', () => {
    const { log } = makeLog({ messageTimestampType: 'LogAppendTime' })
    const odd = () => {
      const batch = batchOf(['a'])
      setAttributes(batch, 0, 0x180)
      refreshCrc(batch, 0, platform.crc32c)
      return batch
    }
    const stored = () => readBatchHeader(concat(log.read(log.logEndOffset - 1, ALL).parts)).attributes
    append(log, odd())
    expect(stored()).toBe(0x08)
    log.updateConfig({ ...log.config, messageTimestampType: 'CreateTime' })
    append(log, odd())
    expect(stored()).toBe(0x180)
  })

  it('takes times up to the limits on both sides of now', () => {
    const { log } = makeLog({ messageTimestampBeforeMaxMs: 1000, messageTimestampAfterMaxMs: 500 })
    const tried = (timestamp: number) => errorOf(() => append(log, batchOf([{ timestamp }])))
    expect([NOW - 1001, NOW - 1000, NOW + 500, NOW + 501, -1].map(tried)).toEqual([
      'INVALID_TIMESTAMP',
      'NONE',
      'NONE',
      'INVALID_TIMESTAMP',
      'NONE',
    ])
  })

  it('compresses anew what the topic wants otherwise', () => {
    const { log } = makeLog({ compressionType: 'gzip' })
    append(log, batchOf(['a', 'b'], { codec: 'none', producerId: 5, producerEpoch: 1, baseSequence: 3 }))
    append(log, batchOf(['c'], { codec: 'snappy' }))
    const kept = batchOf(['d'], { codec: 'gzip' })
    append(log, kept)
    expect(readTexts(log)).toEqual(['0:a', '1:b', '2:c', '3:d'])
    const headers = [0, 2, 3].map(offset => readBatchHeader(concat(log.read(offset, ALL).parts)))
    expect(headers.map(header => header.codec)).toEqual([1, 1, 1])
    expect(headers[0]).toMatchObject({ producerId: 5, producerEpoch: 1, baseSequence: 3, lastOffset: 1 })
    expect(log.read(3, ALL).parts).toEqual([kept])
  })

  it('refuses a batch that is too large once it is uncompressed as the topic wants', () => {
    const { log } = makeLog({ compressionType: 'uncompressed', maxMessageBytes: 1000 })
    const batch = batchOf([{ value: new Uint8Array(5000) }], { codec: 'gzip' })
    expect(errorOf(() => append(log, batch))).toBe('MESSAGE_TOO_LARGE')
  })

  it('limits what comes out of decompressing', () => {
    const { log } = makeLog({ maxDecompressedBytes: 10_000 })
    const bomb = batchOf([{ value: new Uint8Array(1_000_000) }], { codec: 'gzip' })
    expect(errorOf(() => append(log, bomb))).toBe('UNKNOWN_SERVER_ERROR')
    expect(log.logEndOffset).toBe(0)
  })

  it('refuses a batch that fits into no segment', () => {
    const { log } = makeLog({ segmentBytes: 100 })
    expect(errorOf(() => append(log, batchOf(['x'.repeat(100)])))).toBe('RECORD_LIST_TOO_LARGE')
  })

  it('says which records were refused, and that bytes are no batch', () => {
    const { log } = makeLog({ compact: true })
    const keyed = { key: utf8Encode('k') }
    expect(() => append(log, batchOf([keyed, 'x', keyed]))).toThrow(RecordsInvalidError)
    try {
      append(log, batchOf([keyed, 'x', keyed]))
    } catch (error) {
      expect((error as RecordsInvalidError).recordErrors.map(each => each.batchIndex)).toEqual([1])
    }
    expect(() => append(log, new Uint8Array())).toThrow(ProduceRecordsError)
    expect(() => append(log, concat([batchOf([keyed]), batchOf([keyed])]))).toThrow(ProduceRecordsError)
    expect(log.logEndOffset).toBe(0)
  })

  it('holds the batch to the version of the Produce request', () => {
    const { log } = makeLog()
    const zstd = () => batchOf(['a'], { codec: 'zstd' })
    expect(errorOf(() => log.appendAsLeader(zstd(), { ...CLIENT, produceVersion: 6 }))).toBe(
      'UNSUPPORTED_COMPRESSION_TYPE',
    )
    expect(log.appendAsLeader(zstd(), { ...CLIENT, produceVersion: 7 }).firstOffset).toBe(0)
  })

  it('takes records unseen when it is told to, but never a wrong checksum', () => {
    const { log } = makeLog({ validateRecords: false, compact: true })
    append(log, batchOf([{ value: null, timestamp: NOW + 1e9 }]))
    const broken = batchOf(['a'])
    broken[65] ^= 1
    expect(errorOf(() => append(log, broken))).toBe('CORRUPT_MESSAGE')
    expect(log.logEndOffset).toBe(1)
  })

  it('takes several batches of a coordinator in one piece', () => {
    const { log } = makeLog()
    const result = log.appendAsLeader(concat([batchOf(['a', 'b']), batchOf(['c'])]), COORDINATOR)
    expect(result).toMatchObject({ firstOffset: 0, lastOffset: 2 })
    expect(readTexts(log)).toEqual(['0:a', '1:b', '2:c'])
    expect(errorOf(() => log.appendAsLeader(new Uint8Array(), COORDINATOR))).toBe('INVALID_RECORD')
  })

  it('changes nothing when the storage is full', () => {
    const { log } = makeLog({}, { maxBytes: 5000 })
    const sequence = (baseSequence: number) => ({ producerId: 1, producerEpoch: 0, baseSequence })
    append(log, batchOf(['a'], sequence(0)))
    expect(errorOf(() => append(log, batchOf(['x'.repeat(6000)], sequence(1))))).toBe('POLICY_VIOLATION')
    expect([log.logEndOffset, readTexts(log)]).toEqual([1, ['0:a']])
    expect(append(log, batchOf(['b'], sequence(1)))).toMatchObject({ firstOffset: 1, duplicate: false })
  })
})

describe('an idempotent producer', () => {
  const batch = (baseSequence: number, values = ['x'], timestamp = NOW) =>
    batchOf(
      values.map(value => ({ value: utf8Encode(value), timestamp })),
      { producerId: 7, producerEpoch: 0, baseSequence },
    )

  it('gets the first answer again for any of its last five batches', () => {
    const { log } = makeLog()
    for (let index = 0; index < 6; index++) append(log, batch(index, ['x'], NOW + index))
    for (let index = 1; index < 6; index++) {
      expect(append(log, batch(index))).toMatchObject({
        firstOffset: index,
        lastOffset: index,
        duplicate: true,
        logAppendTime: NOW + index,
        sizeInBytes: 0,
      })
    }
    expect(errorOf(() => append(log, batch(0)))).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(errorOf(() => append(log, batch(7)))).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(log.logEndOffset).toBe(6)
  })

  it('is remembered when its records are gone, also after a restart', () => {
    const { log, env, reopen } = makeLog({ retentionMs: 1000, fileDeleteDelayMs: 0 })
    append(log, batch(0, ['a', 'b']))
    append(log, batch(2))
    expect(log.applyRetention(NOW + 2000)).toBe(1)
    env.settle()
    expect(log.logStartOffset).toBe(3)
    for (const each of [log, reopen()]) {
      expect(each.logStartOffset).toBe(3)
      expect(append(each, batch(0, ['a', 'b']))).toMatchObject({ firstOffset: 0, lastOffset: 1, duplicate: true })
      expect(errorOf(() => append(each, batch(4)))).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    }
  })

  it('is forgotten after a day', () => {
    const { log } = makeLog()
    append(log, batch(0))
    log.applyRetention(NOW + 24 * 60 * 60 * 1000)
    expect(log.producers()).toEqual([])
  })

  it('is unknown again when its batches were cut off', () => {
    const { log } = makeLog()
    append(log, batch(0))
    append(log, batch(1))
    log.truncateTo(1)
    expect(append(log, batch(1))).toMatchObject({ firstOffset: 1, duplicate: false })
  })
})

describe('reading', () => {
  function three(): Log {
    const { log } = makeLog()
    append(log, batchOf(['a0', 'a1']))
    append(log, batchOf(['b2', 'b3']))
    append(log, batchOf(['c4']))
    return log
  }
  const size = batchOf(['a0', 'a1']).length

  it('begins with the batch that contains the offset', () => {
    const log = three()
    const read = log.read(1, { ...ALL, maxBytes: 2 * size })
    expect([read.sizeInBytes, firstBatchOffset(read)]).toEqual([2 * size, 0])
    expect(firstBatchOffset(log.read(3, ALL))).toBe(2)
    expect(readTexts(log, 3)).toEqual(['2:b2', '3:b3', '4:c4'])
  })

  it('gives whole batches only, and at least one if asked to', () => {
    const log = three()
    const read = (maxBytes: number, minOneBatch: boolean) => log.read(0, { ...ALL, maxBytes, minOneBatch }).sizeInBytes
    expect([read(size - 1, false), read(size, false), read(2 * size - 1, false), read(2 * size, false)]).toEqual([
      0,
      size,
      size,
      2 * size,
    ])
    expect([read(0, true), read(1, true), read(0, false), read(-5, false), read(-5, true)]).toEqual([
      size,
      size,
      0,
      0,
      size,
    ])
  })

  it('says how many bytes there are, in later segments too, as far as was asked for', () => {
    const { log } = makeLog()
    for (const value of ['a', 'b', 'c']) {
      append(log, batchOf([value]))
      log.roll()
    }
    log.appendAsLeader(batchOf(['d']), CLIENT)
    const size = log.sizeInBytes / 4
    const available = (maxBytes: number, isolation: 'log_end' | 'high_watermark', offset = 0) => {
      const { availableBytes } = log.read(offset, { maxBytes, minOneBatch: true, isolation })
      expect(availableBytes).toBe(log.availableBytes(offset, isolation, maxBytes))
      return availableBytes
    }
    expect(available(1e6, 'log_end')).toBe(4 * size)
    expect(available(1e6, 'high_watermark')).toBe(3 * size)
    expect(available(1e6, 'high_watermark', 1)).toBe(2 * size)
    expect(available(2.5 * size, 'high_watermark')).toBe(2.5 * size)
    expect(available(10, 'log_end')).toBe(10)
  })

  it('ends at the bound of the isolation, and is empty behind it', () => {
    const { log } = makeLog()
    append(log, batchOf(['a', 'b']))
    log.appendAsLeader(batchOf(['c', 'd']), CLIENT)
    expect(readTexts(log, 0, 'high_watermark')).toEqual(['0:a', '1:b'])
    expect(readTexts(log, 0, 'log_end')).toHaveLength(4)
    for (const offset of [2, 3, 4]) {
      expect(log.read(offset, { ...ALL, isolation: 'high_watermark' })).toEqual({
        parts: [],
        sizeInBytes: 0,
        availableBytes: 0,
        abortedTransactions: [],
      })
    }
    expect(errorOf(() => log.read(5, ALL))).toBe('OFFSET_OUT_OF_RANGE')
    expect(errorOf(() => log.read(-1, ALL))).toBe('OFFSET_OUT_OF_RANGE')
  })

  it('of an empty log is empty', () => {
    const { log } = makeLog()
    expect(log.read(0, ALL).parts).toEqual([])
    expect(errorOf(() => log.read(1, ALL))).toBe('OFFSET_OUT_OF_RANGE')
  })

  it('goes on in the next segment', () => {
    const { log } = makeLog({ segmentBytes: 200 })
    for (const value of ['a', 'b', 'c', 'd', 'e', 'f']) append(log, batchOf([value]))
    expect(log.segmentCount).toBe(3)
    expect(readTexts(log)).toEqual(['0:a', '1:b', '2:c', '3:d', '4:e', '5:f'])
    expect(log.read(0, ALL).sizeInBytes).toBe(2 * batchOf(['a']).length)
    expect(firstBatchOffset(log.read(2, ALL))).toBe(2)
  })

  it('counts what is there to read', () => {
    const { log } = makeLog({ segmentBytes: 200 })
    const one = batchOf(['a']).length
    for (const value of ['a', 'b', 'c', 'd', 'e', 'f']) append(log, batchOf([value]))
    log.appendAsLeader(batchOf(['g']), CLIENT)
    const available = (offset: number, max = 1e9) => log.availableBytes(offset, 'high_watermark', max)
    expect([0, 1, 4, 5, 6, 7, 99].map(offset => available(offset))).toEqual([6 * one, 5 * one, 2 * one, one, 0, 0, 0])
    expect(available(0, one + 3)).toBe(one + 3)
    expect(log.availableBytes(6, 'log_end', 1e9)).toBe(one)
  })

  it('finds its way by the index in a long segment', () => {
    const { log } = makeLog({ indexIntervalBytes: 300 })
    const texts: string[] = []
    for (let index = 0; index < 500; index++) {
      append(log, batchOf([`v${2 * index}`, `v${2 * index + 1}`]))
      texts.push(`${2 * index}:v${2 * index}`, `${2 * index + 1}:v${2 * index + 1}`)
    }
    for (const offset of [0, 1, 2, 333, 334, 777, 998, 999]) {
      expect(readTexts(log, offset)).toEqual(texts.slice(offset & ~1))
      const { parts, sizeInBytes } = log.read(offset, { ...ALL, maxBytes: 1000 })
      expect(sizeInBytes).toBeLessThanOrEqual(1000)
      expect(readBatchHeader(concat(parts)).baseOffset).toBe(offset & ~1)
    }
  })

  it('hands out bytes that stay as they are', () => {
    const { log } = makeLog({ fileDeleteDelayMs: 0 })
    append(log, batchOf(['a', 'b']))
    append(log, batchOf(['c']))
    const { parts } = log.read(0, ALL)
    const before = concat(parts)
    log.truncateTo(2)
    append(log, batchOf(['z'.repeat(1000)]))
    log.delete()
    expect(concat(parts)).toEqual(before)
  })
})

describe('transactions', () => {
  const data = (value: string, pid: number, baseSequence: number) =>
    batchOf([value], { producerId: pid, producerEpoch: 0, baseSequence, isTransactional: true })
  const mark = (log: Log, type: 'COMMIT' | 'ABORT', producerId: number) =>
    log.appendAsLeader(
      buildEndTransactionMarker({ type, coordinatorEpoch: 0, producerId, producerEpoch: 0, timestamp: NOW }),
      COORDINATOR,
    )

  it('hold the last stable offset back until their marker is replicated', () => {
    const { log } = makeLog()
    append(log, batchOf(['a']))
    append(log, data('b', 1, 0))
    append(log, data('c', 2, 0))
    expect([log.highWatermark, log.lastStableOffset]).toEqual([3, 1])
    expect(log.read(1, { ...ALL, isolation: 'last_stable' }).parts).toEqual([])
    mark(log, 'COMMIT', 1)
    expect(log.lastStableOffset).toBe(1)
    log.updateHighWatermark(4)
    expect(log.lastStableOffset).toBe(2)
    mark(log, 'ABORT', 2)
    log.updateHighWatermark(5)
    expect(log.lastStableOffset).toBe(5)
  })

  it('that were aborted are listed for what is read', () => {
    const { log, reopen } = makeLog()
    append(log, data('a', 1, 0))
    append(log, data('b', 2, 0))
    mark(log, 'ABORT', 2)
    append(log, data('c', 1, 1))
    mark(log, 'ABORT', 1)
    append(log, data('d', 1, 2))
    mark(log, 'COMMIT', 1)
    log.updateHighWatermark(log.logEndOffset)
    for (const each of [log, reopen({ highWatermark: 7 })]) {
      const read = (offset: number, maxBytes = 1e9) =>
        each.read(offset, { maxBytes, minOneBatch: true, isolation: 'last_stable' }).abortedTransactions
      expect(read(0)).toEqual([
        { producerId: 1, firstOffset: 0 },
        { producerId: 2, firstOffset: 1 },
      ])
      expect(read(0, 1)).toEqual([{ producerId: 1, firstOffset: 0 }])
      expect(read(3)).toEqual([{ producerId: 1, firstOffset: 0 }])
      expect(read(5)).toEqual([])
      expect(each.read(0, ALL).abortedTransactions).toEqual([])
      expect(each.abortedTransactions()).toHaveLength(2)
      expect(each.lastStableOffset).toBe(7)
    }
  })

  it('come back open after a restart and after truncation', () => {
    const { log, reopen } = makeLog()
    append(log, batchOf(['a']))
    append(log, data('b', 1, 0))
    mark(log, 'COMMIT', 1)
    log.updateHighWatermark(3)
    expect(log.lastStableOffset).toBe(3)
    log.truncateTo(2)
    expect(log.lastStableOffset).toBe(1)
    expect(reopen({ highWatermark: 2 }).lastStableOffset).toBe(1)
  })
})

describe('append as follower', () => {
  function copyOf(leader: Log): Uint8Array {
    return concat(leader.read(leader.logStartOffset, ALL).parts)
  }

  it('keeps offsets, epochs, producers', () => {
    const leader = makeLog().log
    append(leader, batchOf(['a', 'b'], { producerId: 1, producerEpoch: 0, baseSequence: 0 }), { leaderEpoch: 2 })
    append(leader, batchOf(['c']), { leaderEpoch: 3 })
    const { log } = makeLog()
    const bytes = copyOf(leader)
    expect(log.appendAsFollower(bytes)).toMatchObject({ firstOffset: 0, lastOffset: 2, lastLeaderEpoch: 3 })
    expect(copyOf(log)).toEqual(bytes)
    expect(log.producers()).toEqual(leader.producers())
    expect(log.endOffsetForEpoch(2)).toEqual({ leaderEpoch: 2, endOffset: 2 })
  })

  it('leaves a partial batch out, and takes nothing of nothing', () => {
    const leader = makeLog().log
    append(leader, batchOf(['a']))
    append(leader, batchOf(['b']))
    const { log } = makeLog()
    expect(log.appendAsFollower(copyOf(leader).slice(0, -3))).toMatchObject({ lastOffset: 0 })
    expect(log.appendAsFollower(new Uint8Array(5))).toBeUndefined()
  })

  it('refuses what does not go on where it ends, and broken batches, whole', () => {
    const leader = makeLog().log
    append(leader, batchOf(['a']))
    append(leader, batchOf(['b']))
    const { log } = makeLog()
    const bytes = copyOf(leader)
    log.appendAsFollower(bytes)
    expect(errorOf(() => log.appendAsFollower(bytes))).toBe('OFFSET_OUT_OF_RANGE')
    append(leader, batchOf(['c']))
    append(leader, batchOf(['d']))
    const more = concat(leader.read(2, ALL).parts)
    more[more.length - 1] ^= 1
    expect(errorOf(() => log.appendAsFollower(more))).toBe('CORRUPT_MESSAGE')
    expect(log.logEndOffset).toBe(2)
  })

  it('takes holes, and batches of its leader only', () => {
    const { log } = makeLog()
    const batch = (baseOffset: number, partitionLeaderEpoch: number) =>
      batchOf(['x'], { baseOffset, partitionLeaderEpoch })
    log.appendAsFollower(concat([batch(0, 1), batch(7, 1), batch(8, 2)]), { leaderEpoch: 1 })
    expect(log.logEndOffset).toBe(8)
    expect(readTexts(log, 3)).toEqual(['7:x'])
  })

  it('takes holes between segments', () => {
    const { log } = makeLog({ segmentBytes: 100 })
    for (const baseOffset of [0, 7, 20]) log.appendAsFollower(batchOf(['x'], { baseOffset, partitionLeaderEpoch: 1 }))
    expect(log.segmentCount).toBe(3)
    expect(readTexts(log, 3)).toEqual(['7:x', '20:x'])
    expect(log.availableBytes(3, 'log_end', 1e9)).toBe(2 * batchOf(['x']).length)
  })

  it('rolls as often as it must', () => {
    const leader = makeLog().log
    for (const value of ['a', 'b', 'c', 'd', 'e']) append(leader, batchOf([value]))
    const { log } = makeLog({ segmentBytes: 150 })
    expect(log.appendAsFollower(copyOf(leader))).toMatchObject({ firstOffset: 0, lastOffset: 4 })
    expect(log.segmentCount).toBe(3)
    expect(readTexts(log)).toEqual(['0:a', '1:b', '2:c', '3:d', '4:e'])
  })

  it('takes a batch that is larger than a segment', () => {
    const leader = makeLog().log
    append(leader, batchOf(['x'.repeat(500)]))
    const { log } = makeLog({ segmentBytes: 100 })
    log.appendAsFollower(copyOf(leader))
    expect(log.logEndOffset).toBe(1)
  })
})

describe('rolling', () => {
  it('by record time', () => {
    const { log } = makeLog({ segmentMs: 1000, messageTimestampAfterMaxMs: 1e9 })
    append(log, batchOf([{ timestamp: NOW }]))
    append(log, batchOf([{ timestamp: NOW + 1000 }]))
    expect(log.segmentCount).toBe(1)
    append(log, batchOf([{ timestamp: NOW + 1001 }]))
    expect(log.segmentCount).toBe(2)
  })

  it('by the clock where records have no time', () => {
    const { log } = makeLog({ segmentMs: 1000 })
    append(log, batchOf([{ timestamp: -1 }]), { now: NOW })
    append(log, batchOf([{ timestamp: -1 }]), { now: NOW + 1001 })
    expect(log.segmentCount).toBe(2)
  })

  it('when offsets leave the reach of a segment', () => {
    const { log } = makeLog()
    log.appendAsFollower(batchOf(['a'], { baseOffset: 0 }))
    log.appendAsFollower(batchOf(['b'], { baseOffset: 2 ** 31 - 1 }))
    expect(log.segmentCount).toBe(1)
    log.appendAsFollower(batchOf(['c'], { baseOffset: 2 ** 31 }))
    expect(log.segmentCount).toBe(2)
    expect(readTexts(log, 1)).toEqual([`${2 ** 31 - 1}:b`, `${2 ** 31}:c`])
  })

  it('when asked to, but no empty segment', () => {
    const { log } = makeLog()
    log.roll()
    expect(log.segmentCount).toBe(1)
    append(log, batchOf(['a']))
    log.roll()
    log.roll()
    expect(log.segmentCount).toBe(2)
  })
})

describe('truncation', () => {
  it('drops whole batches, and what was known of them', () => {
    const { log } = makeLog({ segmentBytes: 150 })
    for (const [index, value] of ['a', 'b', 'c', 'd'].entries()) append(log, batchOf([value]), { leaderEpoch: index })
    log.truncateTo(9)
    expect(log.logEndOffset).toBe(4)
    log.truncateTo(1)
    expect([log.logEndOffset, log.highWatermark, log.latestEpoch, log.segmentCount]).toEqual([1, 1, 0, 1])
    expect(readTexts(log)).toEqual(['0:a'])
    append(log, batchOf(['x']), { leaderEpoch: 9 })
    expect(readTexts(log)).toEqual(['0:a', '1:x'])
  })

  it('at the end forgets an epoch that begins there and has written nothing', () => {
    const { log } = makeLog()
    append(log, batchOf(['a']), { leaderEpoch: 0 })
    log.assignEpochStartOffset(5, 1)
    expect(log.latestEpoch).toBe(5)
    log.truncateTo(1)
    expect([log.latestEpoch, log.logEndOffset]).toEqual([0, 1])
  })

  it('inside of a batch ends before that batch', () => {
    const { log } = makeLog()
    append(log, batchOf(['a']))
    append(log, batchOf(['b', 'c', 'd']))
    log.truncateTo(2)
    expect(log.logEndOffset).toBe(1)
  })

  it('below the log start begins anew there', () => {
    const { log } = makeLog()
    log.truncateFullyAndStartAt(100)
    append(log, batchOf(['a']))
    log.truncateTo(50)
    expect([log.logStartOffset, log.logEndOffset, log.highWatermark]).toEqual([50, 50, 50])
  })

  it('of everything goes on at the given offset, also after a restart', () => {
    const { log, reopen } = makeLog()
    append(log, batchOf(['a'], { producerId: 1, producerEpoch: 0, baseSequence: 0 }))
    log.truncateFullyAndStartAt(1000)
    for (const each of [log, reopen()]) {
      expect([each.logStartOffset, each.logEndOffset, each.latestEpoch]).toEqual([1000, 1000, -1])
      expect([each.producers(), each.sizeInBytes, each.segmentCount]).toEqual([[], 0, 1])
      expect(errorOf(() => each.read(0, ALL))).toBe('OFFSET_OUT_OF_RANGE')
    }
    append(log, batchOf(['b']))
    expect(readTexts(log)).toEqual(['1000:b'])
  })

  it('to the very begin of the log leaves it empty', () => {
    const { log } = makeLog()
    append(log, batchOf(['a']))
    log.truncateTo(0)
    expect([log.logStartOffset, log.logEndOffset, log.sizeInBytes]).toEqual([0, 0, 0])
    append(log, batchOf(['b']))
    expect(readTexts(log)).toEqual(['0:b'])
  })
})

describe('DeleteRecords', () => {
  it('moves the log start, never back, never over the high watermark', () => {
    const { log, reopen } = makeLog()
    append(log, batchOf(['a', 'b', 'c']), { leaderEpoch: 1 })
    append(log, batchOf(['d']), { leaderEpoch: 2 })
    log.appendAsLeader(batchOf(['e']), { ...CLIENT, leaderEpoch: 2 })
    expect(errorOf(() => log.deleteRecordsBefore(5))).toBe('OFFSET_OUT_OF_RANGE')
    expect(log.deleteRecordsBefore(2)).toBe(2)
    expect(log.deleteRecordsBefore(1)).toBe(2)
    for (const each of [log, reopen()]) {
      expect(each.logStartOffset).toBe(2)
      expect(errorOf(() => each.read(1, ALL))).toBe('OFFSET_OUT_OF_RANGE')
      expect(firstBatchOffset(each.read(2, ALL))).toBe(0)
      expect(each.endOffsetForEpoch(0)).toEqual({ leaderEpoch: 0, endOffset: 2 })
    }
  })

  it('of everything leaves nothing to read', () => {
    const { log } = makeLog()
    append(log, batchOf(['a', 'b']))
    expect(log.deleteRecordsBefore(2)).toBe(2)
    expect(log.read(2, ALL).parts).toEqual([])
    expect(log.offsetForTimestamp(0)).toBeUndefined()
  })
})

describe('leader epochs', () => {
  it('are noted before the first append, and survive', () => {
    const { log, reopen } = makeLog()
    append(log, batchOf(['a']), { leaderEpoch: 1 })
    log.assignEpochStartOffset(5, 1)
    for (const each of [log, reopen()]) {
      expect(each.latestEpoch).toBe(5)
      expect(each.endOffsetForEpoch(1)).toEqual({ leaderEpoch: 1, endOffset: 1 })
      expect(each.endOffsetForEpoch(5)).toEqual({ leaderEpoch: 5, endOffset: 1 })
      expect(each.epochForOffset(0)).toBe(1)
    }
  })
})

describe('the end of a log', () => {
  it('leaves no file and no byte when it is deleted', () => {
    const { log, env, storage } = makeLog()
    append(log, batchOf(['a']))
    log.roll()
    append(log, batchOf(['b']))
    log.delete()
    env.settle()
    expect([storage.list(''), storage.usedBytes]).toEqual([[], 0])
  })

  it('deletes files of dropped segments after a while, and none after it is closed', () => {
    const { log, env, storage } = makeLog({ retentionMs: 1, fileDeleteDelayMs: 60_000 })
    append(log, batchOf(['a']))
    log.applyRetention(NOW + 10)
    env.settle()
    const before = storage.list('t-0').length
    env.advance(60_000)
    expect(storage.list('t-0').length).toBe(before - 1)
    append(log, batchOf(['b']))
    log.applyRetention(NOW + 10)
    log.close()
    expect(env.timers).toBe(0)
    env.advance(60_000)
    expect(storage.list('t-0').length).toBe(before)
  })

  it('says up to where it was flushed', () => {
    const { log, env } = makeLog({}, { durable: true })
    append(log, batchOf(['a']))
    log.roll()
    append(log, batchOf(['b']))
    const flushed = log.flush()
    append(log, batchOf(['c']))
    expect(log.flushedOffset).toBe(0)
    env.settle()
    expect([flushed.value, log.flushedOffset]).toEqual([undefined, 3])
    log.truncateTo(1)
    expect(log.flushedOffset).toBe(1)
    const closed = log.close()
    env.settle()
    expect(closed.value).toBeUndefined()
  })
})

it('reads back the records of every codec as they were sent', () => {
  const { log } = makeLog()
  const record = { key: utf8Encode('k'), value: utf8Encode('v'.repeat(300)), headers: [{ key: 'h', value: null }] }
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
    append(log, batchOf([record, record], { codec }))
  }
  const records = readAll(log, 0)
  expect(records.map(each => each.offset)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  for (const each of records) expect(each).toMatchObject(record)
  expect(readRecords(concat(log.read(4, { ...ALL, maxBytes: 1 }).parts), 0, platform)).toHaveLength(2)
})
