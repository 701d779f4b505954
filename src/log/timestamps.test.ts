import { describe, expect, it } from 'vitest'
import { append, batchOf, makeLog } from '../../test/support/log.ts'
import type { Log } from './log.ts'

const WIDE = { messageTimestampAfterMaxMs: Number.MAX_SAFE_INTEGER } as const

function put(log: Log, timestamps: number[], more: Parameters<typeof batchOf>[1] = {}, leaderEpoch = 0): void {
  append(
    log,
    batchOf(
      timestamps.map(timestamp => ({ timestamp })),
      more,
    ),
    { leaderEpoch },
  )
}
const at = (log: Log, timestamp: number) => log.offsetForTimestamp(timestamp)?.offset

describe('the offset for a time', () => {
  it('is that of the first record at or after it', () => {
    const { log } = makeLog()
    for (const timestamp of [2, 4, 6, 8]) put(log, [timestamp])
    expect([0, 2, 3, 5, 7, 8, 9].map(timestamp => at(log, timestamp))).toEqual([0, 0, 1, 2, 3, 3, undefined])
    expect(log.offsetForTimestamp(3)).toEqual({ timestamp: 4, offset: 1, leaderEpoch: 0 })
  })

  it('looks inside of batches, compressed ones too', () => {
    const { log } = makeLog()
    put(log, [10, 20, 30])
    put(log, [40, 50, 60], { codec: 'gzip' })
    expect([15, 30, 31, 41, 60].map(timestamp => at(log, timestamp))).toEqual([1, 2, 3, 4, 5])
  })

  it('goes by the order of offsets where times are in disorder', () => {
    const { log } = makeLog()
    put(log, [50, 10])
    put(log, [30, 70])
    put(log, [60])
    expect([5, 40, 51, 65].map(timestamp => at(log, timestamp))).toEqual([0, 0, 3, 3])
  })

  it('never lies below the log start', () => {
    const { log } = makeLog()
    put(log, [10, 20, 30])
    put(log, [5])
    log.deleteRecordsBefore(2)
    expect([0, 25, 30, 31].map(timestamp => at(log, timestamp))).toEqual([2, 2, 2, undefined])
  })

  it('comes with the epoch that wrote it', () => {
    const { log } = makeLog()
    put(log, [10], {}, 0)
    put(log, [20], {}, 3)
    expect(log.offsetForTimestamp(5)).toMatchObject({ leaderEpoch: 0 })
    expect(log.offsetForTimestamp(15)).toMatchObject({ leaderEpoch: 3 })
  })

  it('is the time of the append in such topics', () => {
    const { log } = makeLog({ messageTimestampType: 'LogAppendTime' })
    append(log, batchOf(['a', 'b']), { now: 100 })
    append(log, batchOf(['c', 'd']), { now: 200 })
    expect(log.offsetForTimestamp(100)).toEqual({ timestamp: 100, offset: 0, leaderEpoch: 0 })
    expect(log.offsetForTimestamp(101)).toEqual({ timestamp: 200, offset: 2, leaderEpoch: 0 })
    expect(log.maxTimestamp()).toEqual({ timestamp: 200, offset: 2, leaderEpoch: 0 })
  })

  it.each([
    [1e9, 1e9],
    [1e9, 300],
    [1000, 200],
    [1000, 1e9],
  ])('is the same with segments of %d bytes and an index entry each %d', (segmentBytes, indexIntervalBytes) => {
    const { log, reopen } = makeLog({ segmentBytes, indexIntervalBytes, ...WIDE })
    // Rising in the large, jumping in the small.
    const times = Array.from({ length: 300 }, (_, index) => index * 10 + ((index * 7919) % 113))
    for (let index = 0; index < times.length; index += 3) put(log, times.slice(index, index + 3))
    for (const each of [log, reopen({ highWatermark: 300 })]) {
      for (let timestamp = 0; timestamp < 3300; timestamp += 37) {
        const expected = times.findIndex(time => time >= timestamp)
        expect(at(each, timestamp)).toBe(expected < 0 ? undefined : expected)
      }
      const max = Math.max(...times)
      expect(each.maxTimestamp()).toMatchObject({ timestamp: max, offset: times.indexOf(max) })
    }
  })
})

describe('the largest time', () => {
  it('is found at its first record', () => {
    const { log } = makeLog({ segmentBytes: 100 })
    expect(log.maxTimestamp()).toBeUndefined()
    put(log, [10, 40])
    put(log, [40, 20])
    put(log, [30])
    expect(log.maxTimestamp()).toEqual({ timestamp: 40, offset: 1, leaderEpoch: 0 })
  })

  it('is none where records have no time', () => {
    const { log } = makeLog()
    put(log, [-1, -1])
    expect(log.maxTimestamp()).toBeUndefined()
  })

  it('does not count what lies below the log start', () => {
    const { log } = makeLog()
    put(log, [90, 16, 20])
    put(log, [15, 5])
    log.deleteRecordsBefore(1)
    expect(log.maxTimestamp()).toMatchObject({ timestamp: 20, offset: 2 })
    log.deleteRecordsBefore(3)
    expect(log.maxTimestamp()).toMatchObject({ timestamp: 15, offset: 3 })
    log.deleteRecordsBefore(5)
    expect(log.maxTimestamp()).toBeUndefined()
  })

  it('does not count segments below the log start', () => {
    const { log } = makeLog({ segmentBytes: 100 })
    for (const timestamp of [90, 10, 20]) put(log, [timestamp])
    log.deleteRecordsBefore(1)
    expect(log.segmentCount).toBe(3)
    expect(log.maxTimestamp()).toMatchObject({ timestamp: 20, offset: 2 })
  })

  it('may be 0', () => {
    const { log } = makeLog()
    put(log, [90, 0])
    log.deleteRecordsBefore(1)
    expect(log.maxTimestamp()).toMatchObject({ timestamp: 0, offset: 1 })
  })

  it('is put right after a truncation', () => {
    const { log } = makeLog()
    put(log, [10])
    put(log, [90])
    log.truncateTo(1)
    expect(log.maxTimestamp()).toMatchObject({ timestamp: 10, offset: 0 })
    expect(at(log, 11)).toBeUndefined()
  })
})
