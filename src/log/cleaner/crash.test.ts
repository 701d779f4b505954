// A crash at every change that a cleaning makes on the disk, by the death of the process or of the power, is harmless: what is read
// afterwards is the old or the new, the log ends where it ended, and another cleaning brings it to where it would have been.

import { describe, expect, it } from 'vitest'
import { Chance } from '../../../test/sim/chance.ts'
import { SimulatedDisk } from '../../../test/sim/simulated-disk.ts'
import { SimulatedFileSystem } from '../../../test/sim/simulated-file-system.ts'
import { append, batchOf, platform } from '../../../test/support/log.ts'
import { eachBatch, readBatchHeader } from '../../records/batch-header.ts'
import { readRecords } from '../../records/batch-reader.ts'
import { DiskStorage } from '../../storage/disk-storage.ts'
import { concat } from '../../util/byte-writer.ts'
import { utf8Decode, utf8Encode } from '../../util/utf8.ts'
import { VirtualEnv } from '../../util/virtual-env.ts'
import type { Log } from '../log.ts'
import { DEFAULT_LOG_CONFIG } from '../log-config.ts'
import { LogDirectory } from '../log-directory.ts'
import { LogCleaner } from './log-cleaner.ts'

const T = 1_700_000_000_000
/** Small enough that what is cleaned becomes several segments. */
const CONFIG = {
  ...DEFAULT_LOG_CONFIG,
  compact: true,
  delete: false,
  minCleanableRatio: 0,
  segmentBytes: 400,
  indexIntervalBytes: 0,
  fileDeleteDelayMs: 50,
}

/** A file system one of whose renames fails, by its number. */
class FailingRenames extends SimulatedFileSystem {
  failing = -1

  override rename(from: string, to: string): void {
    if (this.failing-- === 0) throw Object.assign(new Error(`EIO: rename ${from}`), { code: 'EIO' })
    super.rename(from, to)
  }
}

/** One process on the disk: a log directory with one log, and a cleaner. */
function begin(disk: SimulatedDisk, failingRename = -1) {
  const env = new VirtualEnv()
  const fileSystem = new FailingRenames(disk, env)
  fileSystem.failing = failingRename
  const storage = new DiskStorage({ fileSystem, turns: env.turns })
  const directory = new LogDirectory({ storage, env })
  const log = directory.open('t-0', undefined, { config: CONFIG, platform })
  const cleaner = new LogCleaner({
    env,
    storage,
    config: () => ({
      isEnabled: true,
      backoffMs: 1000,
      dedupeBufferSize: 100_000,
      loadFactor: 0.9,
      maxBytesPerSecond: Number.MAX_SAFE_INTEGER,
    }),
    logs: () => [log.cleanable],
    applyRetention: () => {},
  })
  return { env, storage, fileSystem, directory, log, cleaner }
}

/** A log on a disk, all of it safe: keys that come again and again over several segments. */
function filled(disk: SimulatedDisk): string[] {
  const { env, directory, log } = begin(disk)
  for (let index = 0; index < 24; index++) {
    // Something of every segment stays.
    const key = index % 3 === 0 ? `u${index}` : `k${(index * 7) % 5}`
    const value = index % 11 === 10 ? null : utf8Encode(`v${index}`)
    append(log, batchOf([{ key: utf8Encode(key), value, timestamp: T }]))
  }
  log.roll()
  env.advance(100)
  const records = recordsOf(log)
  directory.close(1)
  env.advance(1000)
  return records
}

function recordsOf(log: Log): string[] {
  const found: string[] = []
  for (let offset = log.logStartOffset; ; ) {
    const { parts } = log.read(offset, { maxBytes: 100_000, minOneBatch: true, isolation: 'log_end' })
    if (parts.length === 0) return found
    const bytes = concat(parts)
    eachBatch(bytes, at => {
      for (const { offset, key, value } of readRecords(bytes, at, platform)) {
        found.push(`${offset}:${utf8Decode(key!)}=${value === null ? null : utf8Decode(value)}`)
      }
      offset = readBatchHeader(bytes, at).lastOffset + 1
    })
  }
}

/** The last record of each key. */
function view(records: readonly string[]): Map<string, string> {
  return new Map(records.map(record => record.slice(record.indexOf(':') + 1).split('=') as [string, string]))
}

const template = new SimulatedDisk(new Chance(1))
const before = filled(template)

/** What a cleaning without an accident leaves. */
function cleaned(): string[] {
  const { env, log, cleaner } = begin(template.fork())
  log.updateHighWatermark(24)
  cleaner.wake()
  env.advance(3000)
  return recordsOf(log)
}

/** Begins to clean, and dies at the change of that number; false when the cleaning had come to its end before. */
function dieAt(change: number, disk: SimulatedDisk, isPower: boolean): boolean {
  const { env, log, cleaner } = begin(disk)
  log.updateHighWatermark(24)
  env.advance(500)
  let isDead = false
  disk.strikeAfter(change, () => {
    isDead = true
  })
  cleaner.wake()
  for (const end = env.now() + 3000; !isDead && env.now() < end; ) {
    env.advance(Math.max(1, (env.nextDue ?? end) - env.now()))
  }
  if (isPower) disk.losePower()
  else disk.processDied()
  return isDead
}

const goal = cleaned()

/** What the next process finds, and makes of it. */
function checkAfterwards(disk: SimulatedDisk): void {
  const { env, log, storage, cleaner } = begin(disk)
  const after = recordsOf(log)
  expect(view(after)).toEqual(view(before))
  for (const record of after) expect(before).toContain(record)
  for (const record of goal) expect(after).toContain(record)
  const offsets = after.map(record => Number.parseInt(record, 10))
  expect(offsets).toEqual([...offsets].sort((a, b) => a - b))
  expect(log.logEndOffset).toBe(24)
  expect(env.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  log.updateHighWatermark(24)
  cleaner.wake()
  env.advance(3000)
  expect(recordsOf(log)).toEqual(goal)
  expect(log.offsetForTimestamp(T)?.offset).toBe(Number.parseInt(goal[0], 10))
  expect(storage.list('t-0').filter(name => /swap|cleaned|deleted/.test(name))).toEqual([])
}

describe('a cleaning that is cut short', () => {
  it('has something to lose', () => {
    expect(before.length).toBe(24)
    expect(goal.length).toBe(13)
    expect(view(goal)).toEqual(view(before))
  })

  it('by the death of the process', () => {
    let change = 0
    for (let isDead = true; isDead; change++) {
      const disk = template.fork()
      isDead = dieAt(change, disk, false)
      checkAfterwards(disk)
    }
    expect(change).toBeGreaterThan(20)
  })

  it('by a power cut, and another while the log is opened again', { timeout: 120_000 }, () => {
    const cuts = Number(process.env.CUTS ?? 2)
    for (let seed = 0; seed < cuts; seed++) {
      for (let change = 0, isDead = true; isDead; change++) {
        const disk = template.fork()
        isDead = dieAt(change, disk, true)
        const { env } = begin(disk)
        env.advance(disk.chance.pick([0, 0, 1, 5, 20, 60]))
        disk.losePower()
        checkAfterwards(disk)
      }
    }
  })

  it('by a power cut, whatever of the rest was written', { timeout: 120_000 }, () => {
    const cuts = Number(process.env.CUTS ?? 2)
    for (let seed = 0; seed < cuts; seed++) {
      for (let change = 0, isDead = true; isDead; change++) {
        const disk = template.fork()
        isDead = dieAt(change, disk, true)
        checkAfterwards(disk)
      }
    }
  })

  it('by a disk that cannot rename a file', () => {
    let count = 0
    for (let hasFailed = true; hasFailed; count++) {
      const disk = template.fork()
      const { env, log, cleaner, fileSystem } = begin(disk, count)
      log.updateHighWatermark(24)
      cleaner.wake()
      env.advance(3000)
      hasFailed = fileSystem.failing < 0
      expect(view(recordsOf(log))).toEqual(view(before))
      disk.processDied()
      checkAfterwards(disk)
    }
    expect(count).toBeGreaterThan(10)
  })
})
