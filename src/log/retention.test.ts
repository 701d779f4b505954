import { describe, expect, it } from 'vitest'
import { append, batchOf, makeLog, readTexts } from '../../test/support/log.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { type OpenOptions, StorageError, type StorageFile } from '../storage/storage.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import type { LogConfig } from './log.ts'

const NOW = 1_700_000_000_000
const ONE = batchOf(['a']).length

/** In which there is no room for another file as long as it is full. */
class FullStorage extends MemoryStorage {
  isFull = false

  override open(path: string, options?: OpenOptions): StorageFile {
    if (this.isFull && options?.create && !this.exists(path)) throw new StorageError('NO_SPACE', `ENOSPC: open ${path}`)
    return super.open(path, options)
  }
}

/** Segments of two batches each, six batches, a second between records. */
function six(config: Partial<LogConfig>) {
  const fixture = makeLog({
    segmentBytes: 2 * ONE + 1,
    messageTimestampAfterMaxMs: 1e12,
    fileDeleteDelayMs: 0,
    ...config,
  })
  for (const [index, value] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
    append(fixture.log, batchOf([{ value: new TextEncoder().encode(value), timestamp: NOW + index * 1000 }]))
  }
  return fixture
}

describe('retention by time', () => {
  it('drops segments whose newest record is older than that', () => {
    const { log } = six({ retentionMs: 5000 })
    expect(log.applyRetention(NOW + 6000)).toBe(0)
    expect(log.applyRetention(NOW + 6001)).toBe(1)
    expect([log.logStartOffset, log.segmentCount]).toEqual([2, 2])
    expect(log.applyRetention(NOW + 6001)).toBe(0)
    expect(readTexts(log)).toEqual(['2:c', '3:d', '4:e', '5:f'])
  })

  it('drops the active segment too, and offsets go on', () => {
    const { log, storage, env } = six({ retentionMs: 5000 })
    expect(log.applyRetention(NOW + 1e6)).toBe(3)
    expect([log.logStartOffset, log.logEndOffset, log.highWatermark, log.segmentCount]).toEqual([6, 6, 6, 1])
    env.settle()
    expect(storage.list('t-0').filter(name => name.includes('.log'))).toHaveLength(1)
    append(log, batchOf(['g']))
    expect(readTexts(log)).toEqual(['6:g'])
    expect(log.applyRetention(NOW + 2e6)).toBe(1)
    expect(log.applyRetention(NOW + 3e6)).toBe(0)
  })

  it('keeps nothing that is older than now when told 0, which is not for ever', () => {
    const { log } = six({ retentionMs: 0 })
    expect(log.applyRetention(NOW + 5000)).toBe(2)
    expect(log.applyRetention(NOW + 5001)).toBe(1)
  })

  it('stops at the first segment that is not old enough', () => {
    const { log } = makeLog({ segmentBytes: ONE, retentionMs: 5000, messageTimestampAfterMaxMs: 1e12 })
    for (const timestamp of [NOW + 9e9, NOW, NOW]) append(log, batchOf([{ value: new Uint8Array(1), timestamp }]))
    expect(log.applyRetention(NOW + 1e6)).toBe(0)
  })

  it('makes room on a disk that is too full for another segment', () => {
    const storage = new FullStorage({ turns: new VirtualEnv().turns })
    const { log } = makeLog({ segmentBytes: ONE, retentionMs: 5000, fileDeleteDelayMs: 0 }, { storage })
    for (const value of ['a', 'b', 'c']) append(log, batchOf([value]))
    storage.isFull = true
    expect(log.applyRetention(NOW + 1e6)).toBe(2)
    expect(readTexts(log)).toEqual(['2:c'])
    expect(log.applyRetention(NOW + 1e6)).toBe(0)
    storage.isFull = false
    expect(log.applyRetention(NOW + 1e6)).toBe(1)
    expect([log.logStartOffset, log.logEndOffset]).toEqual([3, 3])
  })

  it('goes by the clock where records have no time', () => {
    const { log, env } = makeLog({ retentionMs: 5000 })
    append(log, batchOf([{ timestamp: -1 }]), { now: env.now() })
    expect(log.applyRetention(env.now() + 5000)).toBe(0)
    expect(log.applyRetention(env.now() + 5001)).toBe(1)
  })

  it('knows when those were written after the log was opened again', () => {
    const { log, env, reopen } = makeLog({ retentionMs: 5000 })
    append(log, batchOf([{ timestamp: -1 }]), { now: env.now() })
    env.advance(4000)
    const again = reopen({ highWatermark: 1 })
    env.advance(1000)
    expect(again.applyRetention(env.now())).toBe(0)
    env.advance(1)
    expect(again.applyRetention(env.now())).toBe(1)
  })

  it('goes by the clock where clients have another one, and so does the end of a segment', () => {
    const env = new VirtualEnv({ now: NOW, aheadOfClients: true })
    const { log } = makeLog({ retentionMs: 5000, segmentMs: 3000 }, { env })
    const send = (value: string) =>
      append(log, batchOf([{ value: new TextEncoder().encode(value), timestamp: NOW }]), { now: env.now() })
    send('a')
    env.advance(3000)
    send('b')
    expect(log.segmentCount).toBe(1)
    env.advance(1)
    send('c')
    expect(log.segmentCount).toBe(2)
    expect(log.applyRetention(NOW + 8000)).toBe(0)
    expect(log.applyRetention(NOW + 8001)).toBe(1)
    expect(readTexts(log)).toEqual(['2:c'])
  })

  it('is off at -1, and for topics that are only compacted', () => {
    expect(six({ retentionMs: -1 }).log.applyRetention(NOW + 1e12)).toBe(0)
    expect(six({ retentionMs: 1, retentionBytes: 0, delete: false }).log.applyRetention(NOW + 1e12)).toBe(0)
  })
})

describe('retention by size', () => {
  it.each([
    [0, 3],
    [1, 2],
    [2 * ONE - 1, 2],
    [2 * ONE, 2],
    [2 * ONE + 1, 1],
    [4 * ONE, 1],
    [4 * ONE + 1, 0],
    [6 * ONE, 0],
    [-1, 0],
  ])('of %d bytes drops %d segments: what remains is never smaller', (retentionBytes, count) => {
    const { log } = six({ retentionBytes, retentionMs: -1 })
    expect(log.applyRetention(NOW)).toBe(count)
    expect(log.sizeInBytes).toBe((6 - 2 * count) * ONE)
    if (retentionBytes >= 0) expect(log.sizeInBytes).toBeGreaterThanOrEqual(Math.min(retentionBytes, 6 * ONE))
  })
})

describe('retention', () => {
  it('never reaches the high watermark', () => {
    const { log } = makeLog({ segmentBytes: 2 * ONE, retentionMs: 1 })
    append(log, batchOf(['a']))
    append(log, batchOf(['b']))
    for (const value of ['c', 'd', 'e']) {
      log.appendAsLeader(batchOf([value]), { leaderEpoch: 0, now: NOW, origin: 'client' })
    }
    expect(log.applyRetention(NOW + 1e9)).toBe(1)
    expect([log.logStartOffset, log.highWatermark]).toEqual([2, 2])
    log.updateHighWatermark(3)
    expect(log.applyRetention(NOW + 1e9)).toBe(0)
    log.updateHighWatermark(5)
    expect(log.applyRetention(NOW + 1e9)).toBe(2)
  })

  it('drops what lies below the log start, in any topic', () => {
    const { log } = six({ delete: false, compact: false, retentionMs: -1 })
    log.deleteRecordsBefore(1)
    expect(log.applyRetention(NOW)).toBe(0)
    log.deleteRecordsBefore(2)
    expect(log.applyRetention(NOW)).toBe(1)
    log.deleteRecordsBefore(3)
    expect(log.applyRetention(NOW)).toBe(0)
    expect([log.logStartOffset, log.segmentCount]).toEqual([3, 2])
    log.deleteRecordsBefore(6)
    expect(log.applyRetention(NOW)).toBe(1)
    expect([log.logStartOffset, log.segmentCount]).toEqual([6, 1])
  })

  it('forgets epochs that wrote nothing of what remains', () => {
    const { log } = makeLog({ segmentBytes: ONE, retentionBytes: 2 * ONE })
    for (const leaderEpoch of [1, 2, 3, 4]) append(log, batchOf(['a']), { leaderEpoch })
    log.applyRetention(NOW)
    expect(log.endOffsetForEpoch(1)).toEqual({ leaderEpoch: 1, endOffset: 2 })
    expect(log.endOffsetForEpoch(3)).toEqual({ leaderEpoch: 3, endOffset: 3 })
  })
})
