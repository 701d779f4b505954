/**
 * The directory in which the logs of one broker lie, and what is kept there of all of them: recovery points, high watermarks, and log
 * start offsets (the part of Kafka's `LogManager` that deals with files). Every file is
 * Kafka's. Which partitions there are, and who leads them, is the broker's business.
 */

import { type Storage, StorageError, type StorageFailure } from '../storage/storage.ts'
import { allOf } from '../storage/syncs.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import { utf8Encode } from '../util/utf8.ts'
import { IndexCache } from './index-cache.ts'
import { closeAfter } from './later-results.ts'
import { Log, type LogOptions } from './log.ts'
import { readTopicId, writeTopicId } from './partition-metadata.ts'
import { PartitionOffsets } from './partition-offsets.ts'
import { CHECKPOINT_FILES, CLEAN_SHUTDOWN_FILE, METADATA_DIRECTORY } from './root-files.ts'

type Result = StorageFailure | undefined

/** What the directory of a log is called whose topic was deleted, until it is gone; and of one that no topic has. */
export const DELETE_SUFFIX = '-delete'
export const STRAY_SUFFIX = '-stray'
const LONGEST_NAME = 255
/** How many logs are closed at a time. */
const CLOSED_TOGETHER = 8

/** How often the checkpoints are written, in milliseconds. */
export interface CheckpointIntervals {
  readonly recoveryPointMs: number
  readonly highWatermarkMs: number
  readonly logStartOffsetMs: number
}

export class LogDirectory {
  readonly #storage: Storage
  readonly #env: Env
  /** Whether logs are marked with whose they are: whoever comes next may know another topic under the same name. */
  readonly #keepsTopicIds: boolean
  readonly #indexCache: IndexCache
  readonly #recoveryPoints: PartitionOffsets
  readonly #highWatermarks: PartitionOffsets
  readonly #logStartOffsets: PartitionOffsets
  readonly #logs = new Map<string, Log>()
  /** True when nothing was written to logs that are not open since they were closed in good order. */
  #wasClosed = false
  /** Those that were opened once since the start. */
  readonly #opened = new Set<string>()
  /** Logs of before an unclean stop that were not opened since: they may be broken at their ends. */
  readonly #unchecked = new Set<string>()
  readonly #timers = new Map<string, Timer>()
  #pass: Later<Result> | undefined
  #isForgetting = false

  /** Reads the checkpoints, and goes on with deletions that were cut short. */
  constructor(options: { storage: Storage; env: Env; keepsTopicIds?: boolean; indexCache?: IndexCache }) {
    this.#indexCache = options.indexCache ?? new IndexCache()
    const { storage, env } = options
    this.#storage = storage
    this.#env = env
    this.#keepsTopicIds = options.keepsTopicIds ?? !storage.isVolatile
    this.#recoveryPoints = new PartitionOffsets(storage, CHECKPOINT_FILES.recoveryPoint, env)
    this.#highWatermarks = new PartitionOffsets(storage, CHECKPOINT_FILES.highWatermark, env)
    this.#logStartOffsets = new PartitionOffsets(storage, CHECKPOINT_FILES.logStartOffset, env)
    for (const name of storage.list('')) if (name.endsWith(DELETE_SUFFIX)) this.#remove(name)
  }

  /**
   * Says how the broker before ended. After a good stop every log ends at its recovery point, and nothing has to be looked at to know
   * that; after any other a log may be broken at its end until it is opened.
   */
  foundClosed(cleanShutdown: boolean): void {
    this.#wasClosed = cleanShutdown
    if (cleanShutdown) return
    for (const name of this.#storage.list('')) {
      if (/-\d+$/.test(name) && name !== METADATA_DIRECTORY && !this.#logs.has(name)) this.#unchecked.add(name)
    }
  }

  /** Logs that a crash may have left broken, and that were not opened since. */
  get unchecked(): ReadonlySet<string> {
    return this.#unchecked
  }

  /** Whether there are files of a log, opened or not. */
  has(topicPartition: string): boolean {
    return this.#logs.has(topicPartition) || this.#storage.exists(topicPartition)
  }

  /**
   * Opens the log of a partition, or begins one. A directory of another topic that had the same name is moved out of the way.
   *
   * @param topicId whose log it is; left out for a log of no topic
   * @throws {StorageError} when its files cannot be read
   */
  open(
    topicPartition: string,
    topicId: string | undefined,
    options: Omit<LogOptions, 'storage' | 'directory' | 'env' | 'indexCache'>,
  ): Log {
    if (topicId !== undefined && this.#keepsTopicIds) this.#claim(topicPartition, topicId)
    const log = Log.open({
      recoveryPoint: this.#recoveryPoints.get(topicPartition),
      wasClosed: this.#wasClosed && !this.#opened.has(topicPartition),
      highWatermark: this.#highWatermarks.get(topicPartition),
      logStartOffset: this.#logStartOffsets.get(topicPartition),
      ...options,
      storage: this.#storage,
      directory: topicPartition,
      env: this.#env,
      indexCache: this.#indexCache,
      listener: {
        ...options.listener,
        truncated: () => this.#writeRecoveryPoints(),
        cutting: offset =>
          this.#recoveryPoints.isAtMost(topicPartition, offset) ? undefined : this.#writeRecoveryPoints(),
        logStartMoved: () => this.#writeLogStartOffsets(),
        notedLogStart: () => ({
          offset: this.#logStartOffsets.atLeast(topicPartition),
          writing: this.#logStartOffsets.writing,
        }),
      },
    })
    this.#logs.set(topicPartition, log)
    this.#opened.add(topicPartition)
    this.#unchecked.delete(topicPartition)
    // The log is shorter than it was: what comes in its place must not be taken for what was on the disk.
    if (log.recoveryPoint < (this.#recoveryPoints.get(topicPartition) ?? 0)) this.#writeRecoveryPoints()
    return log
  }

  #claim(topicPartition: string, topicId: string): void {
    if (this.#storage.exists(topicPartition)) {
      const found = readTopicId(this.#storage, topicPartition)
      if (found === topicId) return
      if (found !== undefined) this.#setAside(topicPartition, found)
    }
    writeTopicId(this.#storage, topicPartition, topicId).whenSettled(failure => {
      if (failure) this.#warn('cannot write whose log a directory has', topicPartition, failure)
    })
  }

  /**
   * Moves logs out of the way that are of no partition that there is: their topic was deleted and the process died before they were.
   * They are not deleted: were it the metadata that is damaged, they are all that is left.
   *
   * @param isKnown says of a partition of a topic, and of the topic's id where that is known, whether there is one
   */
  setStraysAside(isKnown: (topic: string, partition: number, topicId: string | undefined) => boolean): void {
    for (const name of this.#storage.list('')) {
      const [, topic, partition] = /^(.+)-(\d+)$/.exec(name) ?? []
      if (topic === undefined || name === METADATA_DIRECTORY) continue
      try {
        const topicId = readTopicId(this.#storage, name)
        if (!isKnown(topic, Number(partition), topicId)) this.#setAside(name, topicId)
      } catch (error) {
        // It is in nobody's way as long as nobody wants its name; and if it is known after all, the disk says more when it is opened.
        if (!(error instanceof StorageError)) throw error
        this.#warn('cannot see whether a topic has the log, or set it aside', name, error)
      }
    }
  }

  /** Moves the log of a topic that is not known out of the way, as Kafka does: it may be of use to somebody. */
  #setAside(topicPartition: string, topicId: string | undefined): void {
    const to = this.#nameFor(topicPartition, STRAY_SUFFIX)
    this.#env.log('warn', 'a log of a topic that does not exist any more is set aside', {
      path: topicPartition,
      topicId,
      to,
    })
    this.#storage.rename(topicPartition, to)
    this.#storage.syncDirectory('')
    this.#forget(topicPartition)
  }

  /**
   * Deletes a log with its directory, which is renamed first so that the name is free at once and a crash is made up for by the
   * next start.
   */
  delete(topicPartition: string, topicId: string): void {
    const log = this.#logs.get(topicPartition)
    this.#forget(topicPartition)
    if (!this.#storage.exists(topicPartition)) return
    const gone = this.#nameFor(topicPartition, DELETE_SUFFIX)
    try {
      // The topic that is there now may be another one of the same name.
      const found = log === undefined ? readTopicId(this.#storage, topicPartition) : topicId
      if (found !== undefined && found !== topicId) return
      log?.abandon()
      this.#storage.rename(topicPartition, gone)
    } catch (error) {
      // The topic is gone whatever the disk says: what stays is set aside when its name is wanted, or at the next start.
      if (!(error instanceof StorageError)) throw error
      return this.#warn('cannot move a deleted log out of the way', topicPartition, error)
    }
    this.#remove(gone)
  }

  #forget(topicPartition: string): void {
    this.#logs.delete(topicPartition)
    this.#unchecked.delete(topicPartition)
    const isKnown = [this.#recoveryPoints, this.#logStartOffsets].map(offsets => offsets.forget(topicPartition))
    this.#highWatermarks.forget(topicPartition)
    if (!isKnown.includes(true) || this.#isForgetting) return
    // A topic has many partitions, and the files are written whole.
    this.#isForgetting = true
    this.#env.turns.enqueue(() => {
      this.#isForgetting = false
      this.#writeRecoveryPoints()
      this.#writeLogStartOffsets()
    })
  }

  #remove(name: string): void {
    this.#storage.remove(name).whenSettled(failure => {
      if (failure) this.#warn('cannot remove a deleted log', name, failure)
    })
  }

  /** `topic-partition.<32 digits>-suffix`; a long topic is cut, since names of files have a limit. */
  #nameFor(topicPartition: string, suffix: string): string {
    let unique = ''
    while (unique.length < 32) unique += Math.floor(this.#env.random() * 16).toString(16)
    const dash = topicPartition.lastIndexOf('-')
    const end = `${topicPartition.slice(dash)}.${unique}${suffix}`
    return topicPartition.slice(0, Math.min(dash, LONGEST_NAME - end.length)) + end
  }

  /** Begins to write the checkpoints from time to time. */
  start(intervals: CheckpointIntervals): void {
    if (this.#storage.isVolatile) return
    this.#every('recovery points', intervals.recoveryPointMs, () => this.checkpoint())
    this.#every('high watermarks', intervals.highWatermarkMs, () => this.#writeHighWatermarks())
    this.#every('log start offsets', intervals.logStartOffsetMs, () => this.#writeLogStartOffsets())
  }

  #every(name: string, intervalMs: number, run: () => void): void {
    const again = () => {
      run()
      this.#timers.set(name, this.#env.timer(Math.max(1, intervalMs), again))
    }
    this.#timers.set(name, this.#env.timer(Math.max(1, intervalMs), again))
  }

  /** Brings the logs to the disk one after the other, and writes down their recovery points. Settles once that is done. */
  checkpoint(): Later<Result> {
    if (this.#pass !== undefined) return this.#pass
    const pass = new Later<Result>(this.#env.turns)
    this.#pass = pass
    const logs = [...this.#logs.values()].filter(log => log.recoveryPoint < log.logEndOffset && !log.failure)
    const next = () => {
      const log = logs.shift()
      if (log !== undefined) return log.checkpoint().whenSettled(next)
      this.#pass = undefined
      this.#writeRecoveryPoints().whenSettled(failure => pass.settle(failure))
    }
    next()
    return pass
  }

  /** Settles once the log start offsets, as they are now, are written down; undefined when they are. Tries again what failed. */
  get writingLogStartOffsets(): Later<Result> | undefined {
    if (this.#storage.isVolatile) return undefined
    const { writing, isBehind } = this.#logStartOffsets
    return writing ?? (isBehind ? this.#writeLogStartOffsets() : undefined)
  }

  #writeRecoveryPoints(): Later<Result> {
    if (this.#storage.isVolatile) return Later.of<Result>(this.#env.turns, undefined)
    return this.#recoveryPoints.write(() => this.#merged(this.#recoveryPoints, log => log.recoveryPoint))
  }

  #writeHighWatermarks(): Later<Result> {
    return this.#highWatermarks.write(() => this.#merged(this.#highWatermarks, log => log.highWatermark))
  }

  #writeLogStartOffsets(): Later<Result> {
    // Where a segment begins, its name says it.
    const write = (log: Log) => (log.logStartOffset > log.firstSegmentOffset ? log.logStartOffset : undefined)
    return this.#logStartOffsets.write(() => this.#merged(this.#logStartOffsets, write))
  }

  /** What logs that are open say, and what is known of those that are not and are still there. */
  #merged(known: PartitionOffsets, of: (log: Log) => number | undefined): Map<string, number> {
    const offsets = new Map<string, number>()
    for (const [topicPartition, offset] of known.all) {
      if (!this.#logs.has(topicPartition) && this.#storage.exists(topicPartition)) offsets.set(topicPartition, offset)
    }
    for (const [topicPartition, log] of this.#logs) {
      const offset = of(log)
      if (offset !== undefined) offsets.set(topicPartition, offset)
    }
    return offsets
  }

  /** No checkpoint is written by itself any more. */
  cancel(): void {
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }

  /**
   * Closes all logs and writes all checkpoints. Settles with the first failure.
   *
   * @param brokerEpoch given, the directory is marked as closed in good order, if it was, under this epoch
   */
  close(brokerEpoch?: number): Later<Result> {
    const { turns } = this.#env
    this.cancel()
    const closed = new Later<Result>(turns)
    const written = closeAfter(turns, this.#closeLogs(), () =>
      allOf(turns, [this.#writeRecoveryPoints(), this.#writeHighWatermarks(), this.#writeLogStartOffsets()]),
    )
    written.whenSettled(failure => {
      if (failure !== undefined || brokerEpoch === undefined || !this.isSound) return closed.settle(failure)
      const mark = utf8Encode(JSON.stringify({ version: 0, brokerEpoch }))
      // Nothing here depends on it, since each log's recovery point says more; Kafka looks for it.
      this.#storage.replace(CLEAN_SHUTDOWN_FILE, mark).whenSettled(markFailure => closed.settle(markFailure))
    })
    return closed
  }

  /** Whether every log that there is ended in good order: none failed, and none is left that a crash may have broken. */
  get isSound(): boolean {
    return this.#unchecked.size === 0 && ![...this.#logs.values()].some(log => log.failure)
  }

  #closeLogs(): Later<Result> {
    const result = new Later<Result>(this.#env.turns)
    const waiting = [...this.#logs.values()]
    let failure: Result
    let left = waiting.length
    if (left === 0) result.settle(undefined)
    const next = () => {
      waiting
        .shift()
        ?.close()
        .whenSettled(closeFailure => {
          failure ??= closeFailure
          if (--left === 0) result.settle(failure)
          else next()
        })
    }
    for (let count = 0; count < CLOSED_TOGETHER; count++) next()
    return result
  }

  #warn(message: string, path: string, failure: StorageFailure): void {
    this.#env.log('warn', message, { path, error: failure.message })
  }
}
