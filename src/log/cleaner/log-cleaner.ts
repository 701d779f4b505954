/**
 * Cleans the compacted logs of one broker, one after the other, the filthiest first (Kafka's `LogCleaner` and `LogCleanerManager`,
 * with one thread). It works in slices of about a millisecond, between which everybody else has their turn, and remembers in
 * `cleaner-offset-checkpoint` how far each log is clean.
 */

import { type CleaningNeed, cleaningNeed, filthiest } from '../../core/compaction.ts'
import { RecordsError } from '../../records/records-error.ts'
import { type Storage, StorageError, type StorageFailure } from '../../storage/storage.ts'
import type { Env } from '../../util/env.ts'
import { Later } from '../../util/later.ts'
import type { Timer } from '../../util/timer-queue.ts'
import { type CleanableLog, CleaningAborted } from './cleanable-log.ts'
import { CleanerPoints } from './cleaner-points.ts'
import { type CleaningResult, clean, type Steps } from './cleaning.ts'

export interface CleanerConfig {
  isEnabled: boolean
  /** `log.cleaner.backoff.ms`: how long it rests when there is nothing to clean. */
  backoffMs: number
  /** `log.cleaner.dedupe.buffer.size`: how many bytes the table of keys may take while a log is cleaned. */
  dedupeBufferSize: number
  /** `log.cleaner.io.buffer.load.factor`: how full it may become. */
  loadFactor: number
  /** `log.cleaner.io.max.bytes.per.second`, read and written together. */
  maxBytesPerSecond: number
}

export interface LogCleanerOptions {
  env: Env
  storage: Storage
  config: () => CleanerConfig
  /** The logs that are open and whose policy is to compact. */
  logs: () => Iterable<CleanableLog>
  /** Called before each look at the logs: retention of compacted logs is the cleaner's business, as in Kafka, unless it is off. */
  applyRetention: () => void
}

/** What one slice may cost, in records looked at; on today's machines about a millisecond. */
const SLICE_COST = 1200
/** What it costs to wait for the storage. */
const WAIT_COST = 50
/** A slice ends, whatever it has done, when the clock says that it has taken so long. */
const SLICE_MS = 2
/** Between two slices; timers are no finer. */
const PAUSE_MS = 1
/** It keeps away no longer for having been late: the clock may have been set. */
const MOST_LATE_MS = 50

interface Current {
  log: CleanableLog
  need: CleaningNeed
  steps: Steps<CleaningResult>
  beganAt: number
  slices: number
  longestMs: number
}

export class LogCleaner {
  readonly #env: Env
  readonly #options: LogCleanerOptions
  readonly #points: CleanerPoints
  /** Logs whose records cannot be read: they are left alone until the broker is started again. */
  readonly #uncleanable = new WeakSet<object>()
  #timer: Timer | undefined
  #current: Current | undefined
  /** Read and written since it paused for them last. */
  #unpaidBytes = 0
  /**
   * How late its last slice began. The broker had other things to do, or waited for a core, as a process does that uses more than its
   * share of a busy machine: with it wait those who produce. So it keeps away for as long again.
   */
  #lateMs = 0
  #isStopped = false
  #isAsleep = true

  constructor(options: LogCleanerOptions) {
    this.#env = options.env
    this.#options = options
    this.#points = new CleanerPoints(options.storage, options.env)
  }

  /** There may be something to clean: see `LogListener`. It sleeps until it is told that. */
  wake(): void {
    if (this.#isAsleep) this.#rest(this.#options.config().backoffMs)
  }

  /** Gives up what it is doing, and does nothing more. Settles once what it knows is written down. */
  stop(): Later<StorageFailure | undefined> {
    this.#giveUp()
    this.halt()
    return this.#points.settled()
  }

  /** Does nothing more, as if the process were gone. */
  halt(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#current = undefined
  }

  #giveUp(): void {
    const { steps } = this.#current ?? {}
    this.#current = undefined
    // The return value is of no use to anybody.
    steps?.return(undefined as never)
  }

  #rest(ms: number): void {
    this.#isAsleep = false
    if (!this.#isStopped) this.#timer = this.#env.timer(ms, () => this.#look())
  }

  /** Looks for a log that is to be cleaned, and begins. */
  #look(): void {
    const config = this.#options.config()
    if (!this.#hasWork()) {
      this.#isAsleep = true
      return
    }
    if (config.isEnabled) this.#options.applyRetention()
    const chosen = config.isEnabled ? filthiest(this.#needs()) : undefined
    if (chosen === undefined) return this.#rest(config.backoffMs)
    const { log, need } = chosen
    const beganAt = this.#env.now()
    const steps = clean(log, need, {
      now: beganAt,
      maxMapBytes: config.dedupeBufferSize,
      mapLoadFactor: config.loadFactor,
    })
    this.#current = { log, need, steps, beganAt, slices: 0, longestMs: 0 }
    this.#slice()
  }

  /**
   * Whether it has to look again and again. Most brokers have no compacted log with more than an active segment: where time is
   * moved by weeks, waking for nothing would be most of what is done.
   */
  #hasWork(): boolean {
    for (const { segments, config } of this.#options.logs()) {
      if (segments.count > 1 || segments.wasCut || config.delete) return true
    }
    return false
  }

  *#needs(): Generator<{ log: CleanableLog; need: CleaningNeed }, void, void> {
    const now = this.#env.now()
    for (const log of this.#options.logs()) {
      const { segments } = log
      const cleanedUpTo = this.#points.of(log)
      if (segments.count < 2 || segments.isReplacing || this.#uncleanable.has(segments)) continue
      const need = this.#needOf(log, cleanedUpTo, now)
      if (need !== undefined) yield { log, need }
    }
  }

  /** Undefined when it cannot be read how old the log's segments are. */
  #needOf(log: CleanableLog, cleanedUpTo: number | undefined, now: number): CleaningNeed | undefined {
    try {
      return cleaningNeed({ ...log.bounds(), segments: log.segments.all(), cleanedUpTo }, log.config, now)
    } catch (error) {
      this.#cannotClean(log, error)
      return undefined
    }
  }

  /** Goes on until the slice is used up, the storage must settle something, or all is done. */
  #slice(spent = 0): void {
    const startedAt = this.#env.now()
    const current = this.#current as Current
    try {
      if (!current.log.isCompacted()) throw new CleaningAborted('its policy is not to compact any more')
      for (;;) {
        const step = current.steps.next()
        const tookMs = this.#env.now() - startedAt
        current.longestMs = Math.max(current.longestMs, tookMs)
        if (step.done) return this.#done(current, step.value)
        if (step.value instanceof Later) return this.#wait(current, step.value, spent)
        this.#unpaidBytes += step.value.bytes
        spent += step.value.cost
        // On a machine that is busy a slice takes longer, and others are to have at least half of the time.
        if (spent >= SLICE_COST || tookMs >= SLICE_MS) return this.#pause(current, Math.max(tookMs, this.#lateMs))
      }
    } catch (error) {
      return this.#failed(current, error)
    }
  }

  /** Lets others have their turn for so long, or for longer when it has moved many bytes. */
  #pause(current: Current, ms: number): void {
    current.slices++
    const pauseMs = Math.max(PAUSE_MS, ms, this.#throttleMs())
    const due = this.#env.now() + pauseMs
    this.#timer = this.#env.timer(pauseMs, () => {
      this.#lateMs = Math.min(MOST_LATE_MS, this.#env.now() - due)
      this.#slice()
    })
  }

  /** How long what was moved since this was asked last has to take. */
  #throttleMs(): number {
    const ms = (this.#unpaidBytes * 1000) / this.#options.config().maxBytesPerSecond
    this.#unpaidBytes = 0
    return ms
  }

  #wait(current: Current, later: Later<StorageFailure | undefined>, spent: number): void {
    later.whenSettled(failure => {
      if (this.#current !== current) return
      if (failure !== undefined) {
        this.#failed(current, new StorageError(failure.code, failure.message))
      } else if (spent + WAIT_COST < SLICE_COST) {
        this.#slice(spent + WAIT_COST)
      } else {
        this.#pause(current, this.#lateMs)
      }
    })
  }

  #done({ log, need, beganAt, slices, longestMs }: Current, result: CleaningResult): void {
    this.#current = undefined
    this.#points.set(log, result.endOffset)
    this.#env.log('debug', 'cleaned a log', {
      partition: log.topicPartition,
      from: need.firstDirtyOffset,
      to: result.endOffset,
      bytesBefore: result.bytesBefore,
      bytesAfter: result.bytesAfter,
      ms: this.#env.now() - beganAt,
      slices: slices + 1,
      longestSliceMs: longestMs,
    })
    this.#rest(Math.max(PAUSE_MS, this.#throttleMs()))
  }

  #failed({ log }: Current, error: unknown): void {
    this.#giveUp()
    this.#rest(this.#options.config().backoffMs)
    this.#cannotClean(log, error)
  }

  /** Says so, and leaves the log alone for good if it would be no better the next time. */
  #cannotClean({ topicPartition: partition, segments }: CleanableLog, error: unknown): void {
    if (error instanceof CleaningAborted) {
      this.#env.log('debug', 'the cleaning of a log was given up', { partition, reason: error.message })
    } else if (error instanceof StorageError) {
      this.#env.log('warn', 'cannot clean a log now', { partition, error: error.message })
    } else if (error instanceof RecordsError) {
      this.#uncleanable.add(segments)
      this.#env.log('error', 'a log cannot be cleaned: what it holds is broken', { partition, error: error.message })
    } else {
      this.#uncleanable.add(segments)
      throw error
    }
  }
}
