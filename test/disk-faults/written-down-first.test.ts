// What a log is going to lose is written down before it is gone: where it begins, before segments are removed; how far it can be
// trusted, before it is cut. So a power cut at any moment finds a log that is whole.

import { describe, expect, it } from 'vitest'
import type { Log } from '../../src/log/log.ts'
import { DEFAULT_LOG_CONFIG } from '../../src/log/log-config.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { KafkaError } from '../../src/protocol/errors.ts'
import { eachBatch, readBatchHeader } from '../../src/records/batch-header.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import { readWhole } from '../../src/storage/read-whole.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { Later } from '../../src/util/later.ts'
import { utf8Decode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { Chance } from '../sim/chance.ts'
import { SimulatedDisk } from '../sim/simulated-disk.ts'
import { SimulatedFileSystem } from '../sim/simulated-file-system.ts'
import { GatedStorage } from '../support/gated-storage.ts'
import { append, batchOf, platform } from '../support/log.ts'

const CONFIG = { ...DEFAULT_LOG_CONFIG, segmentBytes: 400, retentionBytes: 1000, retentionMs: -1, fileDeleteDelayMs: 5 }
const SEEDS = 100

/** One process on a disk. */
function open(disk: SimulatedDisk) {
  const env = new VirtualEnv()
  const storage = new DiskStorage({ fileSystem: new SimulatedFileSystem(disk, env), turns: env.turns })
  const directory = new LogDirectory({ storage, env })
  const log = directory.open('t-0', undefined, { config: CONFIG, platform })
  const settled = <T>(later: Later<T>): T => {
    for (let count = 0; !later.settled && count < 10_000; count++) env.step()
    return later.value
  }
  return { env, directory, log, settled }
}

/** A log of 20 records in many segments, all of it on the disk, with what is known of it. */
function whole(disk: SimulatedDisk) {
  const opened = open(disk)
  for (let index = 0; index < 20; index++) append(opened.log, batchOf(['x'.repeat(60)]))
  expect(opened.settled(opened.directory.checkpoint())).toBeUndefined()
  expect(opened.log.segmentCount).toBeGreaterThan(5)
  return opened
}

/** The base offsets of all batches, each checked as a reader does. */
function offsets(log: Log): number[] {
  const found: number[] = []
  for (let next = log.logStartOffset; next < log.logEndOffset; ) {
    const { parts } = log.read(next, { maxBytes: 1e6, minOneBatch: true, isolation: 'log_end' })
    const bytes = concat(parts)
    if (bytes.length === 0) break
    eachBatch(bytes, at => {
      const { baseOffset, lastOffset } = readBatchHeader(bytes, at)
      found.push(baseOffset)
      next = lastOffset + 1
    })
  }
  return found
}

function everyOffset(log: Log): number[] {
  return Array.from({ length: log.logEndOffset - log.logStartOffset }, (_, index) => log.logStartOffset + index)
}

describe('where a log begins', () => {
  it('is on the disk before segments below are gone', () => {
    const starts = new Set<number>()
    for (let seed = 1; seed <= SEEDS; seed++) {
      const disk = new SimulatedDisk(new Chance(seed))
      const { env, log } = whole(disk)
      const before = log.segmentCount
      expect(log.applyRetention(env.now())).toBeGreaterThan(1)
      expect(log.logStartOffset).toBeGreaterThan(4)
      env.advance(seed % 40)
      // Whoever saw that something is gone must not see it come back.
      const isGone = log.segmentCount < before
      const { logStartOffset } = log
      disk.losePower()
      const { log: after } = open(disk)
      starts.add(after.logStartOffset)
      if (isGone) expect(after.logStartOffset).toBe(logStartOffset)
      expect(after.logEndOffset).toBe(20)
      expect(offsets(after)).toEqual(everyOffset(after))
    }
    // Both were seen: too early, and in time.
    expect(starts.size).toBe(2)
  })

  it('stays written down until the removal is on the disk, too', () => {
    const env = new VirtualEnv()
    const storage = new GatedStorage(env.turns)
    const directory = new LogDirectory({ storage, env })
    const log = directory.open('t-0', undefined, { config: CONFIG, platform })
    for (let index = 0; index < 20; index++) append(log, batchOf(['x'.repeat(60)]))
    const synced = new Later<undefined>(env.turns)
    storage.syncDirectory = () => synced
    log.applyRetention(env.now())
    directory.start({ recoveryPointMs: 1e9, highWatermarkMs: 1e9, logStartOffsetMs: 10 })
    env.advance(100)
    const { logStartOffset } = log
    const written = () => utf8Decode(readWhole(storage, 'log-start-offset-checkpoint') as Uint8Array)
    expect(storage.list('t-0').filter(name => name.endsWith('.log')).length).toBe(log.segmentCount)
    expect(written()).toBe(`0\n1\nt 0 ${logStartOffset}\n`)
    synced.settle(undefined)
    env.advance(100)
    // Now the name of the first segment says it.
    expect(written()).toBe('0\n0\n')
  })

  it('is no reason to keep what fills the disk', () => {
    const disk = new SimulatedDisk(new Chance(1))
    const { env, log } = whole(disk)
    const before = log.segmentCount
    disk.faults.full = true
    log.applyRetention(env.now())
    env.advance(100)
    expect(log.segmentCount).toBeLessThan(before)
  })
})

describe('how far a log can be trusted', () => {
  /** Cuts as a follower does, who asks its leader again for as long as it is too early. */
  function cut({ log, settled }: ReturnType<typeof open>, offset: number): void {
    for (;;) {
      const notYet = log.noteCut(offset)
      if (notYet === undefined) break
      expect(settled(notYet)).toBeUndefined()
      expect(log.logEndOffset).toBe(20)
    }
    log.truncateTo(offset)
  }

  it('is lowered on the disk before it is cut, so that what comes in its place is checked', () => {
    let torn = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const disk = new SimulatedDisk(new Chance(seed))
      const opened = whole(disk)
      cut(opened, 9)
      for (let index = 0; index < 6; index++) append(opened.log, batchOf(['y'.repeat(50)]))
      opened.env.advance(seed % 4)
      disk.losePower()
      const { log } = open(disk)
      if (log.logEndOffset < 15) torn++
      expect(log.logEndOffset).toBeGreaterThanOrEqual(9)
      expect(readError(log)).toBe('NONE')
      expect(offsets(log)).toEqual(everyOffset(log))
    }
    expect(torn).toBeGreaterThan(SEEDS / 4)
  })

  function readError(log: Log): string {
    try {
      offsets(log)
      return 'NONE'
    } catch (error) {
      if (error instanceof KafkaError) return error.error
      throw error
    }
  }
})
