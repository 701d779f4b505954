// A log on a disk that loses what was not synced: whatever was done, and whenever the power goes, the log that is opened then has
// everything that was flushed, and what it has is as it was written: batches, epochs, producers, times.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { IndexCache } from '../../src/log/index-cache.ts'
import type { Log } from '../../src/log/log.ts'
import { DEFAULT_LOG_CONFIG } from '../../src/log/log-config.ts'
import { LogDirectory } from '../../src/log/log-directory.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import { concat } from '../../src/util/byte-writer.ts'
import type { Later } from '../../src/util/later.ts'
import { utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { Chance } from '../sim/chance.ts'
import { GOOD_DAY, SimulatedDisk } from '../sim/simulated-disk.ts'
import { SimulatedFileSystem } from '../sim/simulated-file-system.ts'
import { batchOf, platform } from '../support/log.ts'

const NOW = 1_700_000_000_000
/** The last byte of a batch is no zero: zeros are there wherever a file is longer than what was written to it, and would make a torn one whole. */
const HEADERS = [{ key: 'k', value: utf8Encode('v') }]
const CONFIG = {
  ...DEFAULT_LOG_CONFIG,
  segmentBytes: 900,
  indexIntervalBytes: 150,
  retentionBytes: 2500,
  retentionMs: -1,
  fileDeleteDelayMs: 5,
}

interface Written {
  base: number
  bytes: Uint8Array
  timestamps: number[]
  epoch: number
  producer: number
  sequence: number
}

type Step =
  | { do: 'append'; count: number; size: number; time: number; producer: number; newEpoch: boolean }
  | { do: 'appendToFullDisk'; size: number }
  | { do: 'truncate' | 'deleteRecords'; back: number }
  | { do: 'wait'; ms: number }
  | { do: 'flush' | 'checkpoint' | 'roll' | 'retain' | 'stop' | 'cut' | 'kill' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 3 }),
      size: fc.integer({ min: 0, max: 120 }),
      time: fc.integer({ min: 0, max: 1000 }),
      producer: fc.integer({ min: 1, max: 3 }),
      newEpoch: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('truncate' as const, 'deleteRecords' as const),
      back: fc.integer({ min: 0, max: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('appendToFullDisk' as const), size: fc.integer({ min: 0, max: 120 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('flush' as const, 'checkpoint' as const, 'roll' as const, 'retain' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('stop' as const, 'cut' as const, 'kill' as const) }) },
)

class Run {
  readonly disk: SimulatedDisk
  env = new VirtualEnv()
  directory!: LogDirectory
  log!: Log
  written: Written[] = []
  end = 0
  start = 0
  epoch = 0
  /** What was promised to be there, and to be gone, whatever happens. */
  flushed = 0
  deleted = 0

  constructor(seed: number) {
    this.disk = new SimulatedDisk(new Chance(seed))
    this.open()
  }

  open(): void {
    this.env = new VirtualEnv({ now: this.env.now() + 1000 })
    const { env } = this
    const fileSystem = new SimulatedFileSystem(this.disk, env)
    const storage = new DiskStorage({ fileSystem, turns: env.turns, maxOpenFiles: 4 })
    this.directory = new LogDirectory({ storage, env, indexCache: new IndexCache(100) })
    this.log = this.directory.open('t-0', undefined, { config: CONFIG, platform })
  }

  /** Lets time go by until something is done. */
  settled<T>(later: Later<T>): T {
    for (let count = 0; !later.settled && count < 10_000; count++) this.env.step()
    return later.value
  }

  take(step: Step): void {
    const { log } = this
    switch (step.do) {
      case 'append':
        this.append(step)
        break
      case 'appendToFullDisk': {
        const batch = batchOf([{ timestamp: NOW, value: new Uint8Array(step.size), headers: HEADERS }])
        this.disk.faults = { ...GOOD_DAY, full: true }
        const append = () => log.appendAsLeader(batch, { leaderEpoch: this.epoch, now: NOW, origin: 'coordinator' })
        expect(append).toThrow(/ENOSPC/)
        this.disk.faults = { ...GOOD_DAY }
        expect(log.logEndOffset).toBe(this.end)
        break
      }
      case 'truncate': {
        const offset = Math.max(log.logStartOffset, this.end - step.back)
        const noted = log.noteCut(offset)
        if (noted !== undefined) expect(this.settled(noted)).toBeUndefined()
        log.truncateTo(offset)
        this.written = this.written.filter(({ base, timestamps }) => base + timestamps.length <= offset)
        this.end = log.logEndOffset
        this.flushed = Math.min(this.flushed, this.end)
        // A batch of which a part was deleted may go as a whole, and then the log starts before that.
        this.start = log.logStartOffset
        this.deleted = Math.min(this.deleted, this.start)
        // Until then, what was cut off may come back.
        expect(this.settled(log.flush())).toBeUndefined()
        const writing = this.directory.writingLogStartOffsets
        if (writing !== undefined) this.settled(writing)
        break
      }
      case 'deleteRecords': {
        const offset = log.deleteRecordsBefore(Math.max(log.logStartOffset, this.end - step.back))
        this.start = offset
        const writing = this.directory.writingLogStartOffsets
        if (writing !== undefined) expect(this.settled(writing)).toBeUndefined()
        this.deleted = offset
        break
      }
      case 'wait':
        this.env.advance(step.ms)
        break
      case 'flush':
        expect(this.settled(log.flush())).toBeUndefined()
        this.flushed = log.flushedOffset
        break
      case 'checkpoint':
        expect(this.settled(this.directory.checkpoint())).toBeUndefined()
        this.flushed = log.flushedOffset
        break
      case 'roll':
        log.roll()
        break
      case 'retain':
        log.applyRetention(NOW)
        this.start = log.logStartOffset
        break
      case 'stop':
        expect(this.settled(this.directory.close(1))).toBeUndefined()
        this.flushed = this.end
        this.disk.losePower()
        this.reopen(true)
        break
      case 'kill': {
        // What the system has is not lost with the process, only with the power.
        const { flushed } = this
        this.disk.processDied()
        this.flushed = this.end
        this.reopen(false)
        this.flushed = flushed
        break
      }
      case 'cut':
        this.flushed = Math.max(this.flushed, log.flushedOffset)
        this.disk.losePower()
        this.reopen(false)
    }
  }

  append({ count, size, time, producer, newEpoch }: Step & { do: 'append' }): void {
    if (newEpoch) this.epoch++
    const timestamps = Array.from({ length: count }, (_, index) => NOW - 10_000 + ((time * 31 + index * 7) % 1000))
    const last = this.written.findLast(each => each.producer === producer)
    const sequence = last === undefined ? 0 : last.sequence + last.timestamps.length
    const batch = batchOf(
      timestamps.map(timestamp => ({ timestamp, value: new Uint8Array(size).fill(this.end), headers: HEADERS })),
      { producerId: producer, producerEpoch: 0, baseSequence: sequence },
    )
    this.log.appendAsLeader(batch, { leaderEpoch: this.epoch, now: NOW, origin: 'coordinator' })
    this.written.push({ base: this.end, bytes: batch.slice(), timestamps, epoch: this.epoch, producer, sequence })
    this.end += count
    this.log.updateHighWatermark(this.end)
    this.env.settle()
  }

  /** Opens what is left, and holds it against what was written. */
  reopen(closed: boolean): void {
    this.open()
    this.directory.foundClosed(closed)
    const { log } = this
    const end = log.logEndOffset
    const start = log.logStartOffset
    expect(start).toBeGreaterThanOrEqual(this.deleted)
    // The very name of the first segment may be lost, when nothing of it was flushed.
    if (start > Math.max(this.start, this.deleted)) expect(this.flushed).toBeLessThanOrEqual(this.start)
    // What was deleted need not be there, even if nothing behind it is.
    if (end !== start) expect(end).toBeGreaterThanOrEqual(this.flushed)
    else expect(Math.max(end, this.deleted)).toBeGreaterThanOrEqual(Math.min(this.flushed, this.end))
    expect(end).toBeLessThanOrEqual(Math.max(this.end, start))
    this.written = this.written.filter(({ base, timestamps }) => base + timestamps.length <= end)
    this.end = end
    this.start = start
    this.flushed = Math.min(this.flushed, end)
    this.epoch = Math.max(this.epoch, log.latestEpoch)
    // There is one replica: what it has is committed.
    log.updateHighWatermark(end)
    this.check()
    expect(this.env.lines.filter(({ level }) => level === 'error')).toEqual([])
  }

  check(): void {
    const { log, start, end } = this
    const kept = this.written.filter(({ base, timestamps }) => base + timestamps.length > start)
    const found: Uint8Array[] = []
    for (let offset = start; offset < end; ) {
      const { parts, sizeInBytes } = log.read(offset, { maxBytes: 1, minOneBatch: true, isolation: 'log_end' })
      if (sizeInBytes === 0) break
      found.push(concat(parts))
      offset = (kept[found.length - 1]?.base ?? end) + (kept[found.length - 1]?.timestamps.length ?? 0)
    }
    expect(found).toEqual(kept.map(({ bytes }) => bytes))
    for (const { base, epoch } of kept) if (base >= start) expect(log.epochForOffset(base)).toBe(epoch)
    const records = kept.flatMap(({ base, timestamps }) =>
      timestamps.map((timestamp, index) => ({ offset: base + index, timestamp })),
    )
    for (const time of [NOW - 10_000, NOW - 9_700, NOW - 9_300, NOW - 9_010]) {
      const wanted = records.find(({ offset, timestamp }) => offset >= start && timestamp >= time)
      expect(log.offsetForTimestamp(time)?.offset).toBe(wanted?.offset)
    }
    for (const producer of log.producers()) {
      const batches = this.written.filter(each => each.producer === producer.producerId).slice(-5)
      const found = producer.batches.map(({ firstSequence, firstOffset }) => [firstSequence, firstOffset])
      const there = batches.filter(({ base }) => base >= start).map(({ sequence, base }) => [sequence, base])
      expect(found.slice(Math.max(0, found.length - there.length))).toEqual(there)
      // Of batches that were deleted only what is in a snapshot is known.
      const all = this.written.map(({ sequence, base }) => [sequence, base])
      for (const each of found) expect(all).toContainEqual(each)
    }
    const known = new Set(log.producers().map(({ producerId }) => producerId))
    for (const { producer } of kept) expect(known.has(producer)).toBe(true)
  }
}

const ONE = { do: 'append', count: 1, size: 0, time: 0, producer: 1, newEpoch: false } as const

/** A segment that was removed and never flushed is there again, and broken: that is nobody's loss. */
const REMOVED_AND_BACK: [number, Step[]] = [
  -1_239_473_808,
  [
    ONE,
    { do: 'wait', ms: 21 },
    { do: 'truncate', back: 1 },
    ONE,
    { do: 'roll' },
    ONE,
    { do: 'deleteRecords', back: 0 },
  ],
]

/** What was written of a batch that had no room was cut off, which is not on the disk when the next segment is. */
const HALF_WRITTEN_AND_ROLLED: [number, Step[]] = [
  4,
  [ONE, { do: 'flush' }, { do: 'appendToFullDisk', size: 100 }, { do: 'roll' }, ONE, { do: 'flush' }],
]

/** The log ends before a batch of which the cut would leave a part, and nothing behind that can be trusted. */
const CUT_WITHIN_A_BATCH: [number, Step[]] = [
  8,
  [ONE, { ...ONE, count: 3 }, { do: 'checkpoint' }, ONE, { do: 'truncate', back: 3 }, { ...ONE, newEpoch: true }, ONE],
]

it('has what was flushed, as it was written, whenever the power goes', () => {
  fc.assert(
    fc.property(fc.integer(), fc.array(step, { minLength: 1, maxLength: 60 }), (seed, steps) => {
      const run = new Run(seed)
      for (const each of steps) run.take(each)
      run.take({ do: 'cut' })
      run.take({ do: 'stop' })
    }),
    {
      numRuns: 200,
      examples: [REMOVED_AND_BACK, HALF_WRITTEN_AND_ROLLED, CUT_WITHIN_A_BATCH],
    },
  )
})
