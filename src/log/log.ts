/**
 * One partition's log on one broker: batches with growing offsets in segments, and what they add up to (Kafka's
 * `UnifiedLog`). It knows bytes, offsets, epochs and producers. Who leads, who may write, when the high watermark moves and
 * who waits for it is the broker's business.
 */

import { KafkaError } from '../protocol/errors.ts'
import type { StorageFailure } from '../storage/storage.ts'
import type { Later } from '../util/later.ts'
import { type AppendResult, appended, duplicated, joined } from './append-result.ts'
import type { CleanableLog } from './cleaner/cleanable-log.ts'
import { prepareFollowerAppend } from './follower-append.ts'
import { closeAfter } from './later-results.ts'
import {
  type AppendContext,
  type LeaderAppendOptions,
  type PreparedAppend,
  prepareLeaderAppend,
} from './leader-append.ts'
import { type LogConfig, UNLIMITED } from './log-config.ts'
import { loadLog } from './log-loader.ts'
import type { LogOptions } from './log-options.ts'
import { replayProducers } from './replay-producers.ts'
import { RetainedLog } from './retained-log.ts'

export type { AppendResult } from './append-result.ts'
export type { LeaderAppendOptions } from './leader-append.ts'
export type { LogConfig } from './log-config.ts'
export type { LogListener, LogOptions } from './log-options.ts'

/**
 * See the head of the file.
 *
 * @example
 * const log = Log.open({ storage, directory: 'orders-0', config: DEFAULT_LOG_CONFIG, env, platform })
 * const { lastOffset } = log.appendAsLeader(batch, { leaderEpoch: 0, now: env.now(), origin: 'client' })
 * log.updateHighWatermark(lastOffset + 1)
 * log.read(0, { maxBytes: 1_000_000, minOneBatch: true, isolation: 'high_watermark' }).parts
 */
export class Log extends RetainedLog {
  #doubtfulFrom: number | undefined

  /**
   * Opens the log in a directory, or begins one. What a crash left half written at its end is dropped.
   *
   * @throws {StorageError} when its files cannot be read
   */
  static open(options: LogOptions): Log {
    const log = new Log(options)
    log.#load(options)
    return log
  }

  #load(options: LogOptions): void {
    const { recoveryPoint = 0, logStartOffset = 0 } = options
    const { epochs, producers } = this.state
    const wasClosed = options.wasClosed === true && options.recoveryPoint !== undefined
    const loaded = loadLog({ ...options, local: this.local, state: this.state, recoveryPoint, wasClosed })
    this.local.loaded(loaded.endOffset)
    this.durability.loaded(loaded.recoveryPoint)
    if (loaded.wasCut) this.durability.truncated(loaded.endOffset)
    this.startOffset = Math.max(logStartOffset, this.local.segments.first.baseOffset)
    this.notedStart = this.startOffset
    this.foundFirst(this.local.segments.first.baseOffset)
    if (this.startOffset > this.logEndOffset) this.#startOver(this.startOffset)
    // An epoch may begin at the log end, without a record yet.
    epochs.truncateFromEnd(this.logEndOffset + 1)
    epochs.truncateFromStart(this.startOffset)
    // What was learned from batches has to be known when they are not read any more.
    this.state.writeEpochs()
    const highWatermark = options.highWatermark ?? this.startOffset
    this.watermark = Math.min(Math.max(highWatermark, this.startOffset), this.logEndOffset)
    producers.transactions.replicatedUpTo(this.watermark)
    if (options.forgetProducers) producers.expire(Number.MAX_SAFE_INTEGER, 0)
    this.#doubtfulFrom = loaded.doubtfulFrom
    this.#tellCleaner()
  }

  /**
   * From there on records may be missing that were not on the disk when its machine stopped, or none: offsets stay out in a compacted log
   * anyway. Who can get them from a leader takes nothing for good from here on. Undefined when there is no doubt.
   */
  get doubtfulFrom(): number | undefined {
    return this.#doubtfulFrom
  }

  /** There is nobody to get anything from: what is there is the log. */
  trust(): void {
    this.#doubtfulFrom = undefined
  }

  /** Takes effect with the next append, roll or retention. */
  updateConfig(config: LogConfig): void {
    this.local.updateConfig(config)
    this.#tellCleaner()
  }

  /**
   * Appends batches of a client or a coordinator: checks them, gives them offsets and the epoch in the given bytes, and
   * copies those into the storage once.
   *
   * @throws {KafkaError} and changes nothing in the log: {@link ProduceRecordsError} for what is not one batch,
   * {@link RecordsInvalidError} for refused records, POLICY_VIOLATION for a full storage, KAFKA_STORAGE_ERROR for one that
   * fails, and all else that Kafka says
   */
  appendAsLeader(records: Uint8Array, options: LeaderAppendOptions): AppendResult {
    try {
      const prepared = prepareLeaderAppend(records, options, this.#appendContext())
      if ('duplicate' in prepared) {
        const { duplicate } = prepared
        return duplicated(duplicate, this.state.epochs.epochFor(duplicate.lastOffset) ?? -1, this.startOffset)
      }
      return this.#append(prepared, options.now)
    } catch (error) {
      throw this.met(error)
    }
  }

  /**
   * Appends batches as their leader wrote them, with its offsets and epochs; a partial batch at the end is left out.
   * Undefined when there was no whole batch.
   *
   * @param options.leaderEpoch batches of a later epoch are left out
   * @param options.immutable the bytes never change, as those that another log has: memory may share them
   * @throws {KafkaError} CORRUPT_MESSAGE or OFFSET_OUT_OF_RANGE, before anything is appended; a storage that is full may
   * have taken the first of several segments' worth
   */
  appendAsFollower(
    records: Uint8Array,
    options: { leaderEpoch?: number; immutable?: boolean } = {},
  ): AppendResult | undefined {
    const { leaderEpoch, immutable } = options
    try {
      let result: AppendResult | undefined
      for (const portion of prepareFollowerAppend(records, this.#appendContext(), leaderEpoch)) {
        result = joined(result, this.#append({ ...portion, immutable }, this.env.now()))
      }
      return result
    } catch (error) {
      throw this.met(error)
    }
  }

  #appendContext(): AppendContext {
    return {
      config: this.config,
      platform: this.platform,
      producers: this.state.producers,
      logEndOffset: this.logEndOffset,
      topicPartition: this.topicPartition,
    }
  }

  #append(prepared: PreparedAppend, now: number): AppendResult {
    const { failure } = this.durability
    if (failure !== undefined) throw new KafkaError('KAFKA_STORAGE_ERROR', failure.message)
    const local = this.local
    if (local.isFullFor(prepared, now)) this.roll(prepared.batches[0].header.baseOffset)
    try {
      local.append(prepared, now)
    } catch (error) {
      // A part of it may have been written and cut off again: it must not be back after a power cut, when more lies behind it.
      this.durability.truncated(this.logEndOffset)
      throw error
    }
    const { active } = local.segments
    for (const { header, marker } of prepared.batches) this.state.append(header, marker, active)
    this.durability.appended()
    return appended(prepared, this.startOffset)
  }

  /**
   * Ends the active segment and begins another, unless it is empty.
   *
   * @throws {KafkaError} KAFKA_STORAGE_ERROR when there can be no other one
   */
  roll(baseOffset = this.logEndOffset): void {
    const ended = this.#rollSegment(baseOffset)
    if (ended === undefined) return
    this.durability.rolled(ended, baseOffset)
    this.#tellCleaner()
  }

  #rollSegment(baseOffset: number) {
    try {
      return this.local.roll(baseOffset)
    } catch (error) {
      throw this.met(error)
    }
  }

  #tellCleaner(): void {
    if (this.config.compact) this.listener.toClean?.()
  }

  /** Takes over how far the log is replicated. It never goes back, nor beyond the log end. True when it moved. */
  updateHighWatermark(offset: number): boolean {
    const next = Math.min(offset, this.logEndOffset)
    if (next <= this.watermark) return false
    this.watermark = next
    this.state.producers.transactions.replicatedUpTo(next)
    return true
  }

  /** Notes that `epoch` writes from `offset` on: what a new leader does before its first append. */
  assignEpochStartOffset(epoch: number, offset: number): void {
    if (this.state.epochs.assign(epoch, offset)) this.state.writeEpochs()
  }

  /**
   * Drops what lies at or behind `offset`, whole batches: one that reaches across goes too. Nothing happens when the log
   * ends before it.
   */
  truncateTo(offset: number): void {
    const { segments } = this.local
    if (offset >= this.logEndOffset) {
      // An epoch that begins there, without a record yet, may be one that its leader never had.
      if (this.state.epochs.truncateFromEnd(offset)) this.state.writeEpochs()
      return
    }
    if (offset < segments.first.baseOffset) return this.truncateFullyAndStartAt(offset)
    try {
      this.local.truncateTo(offset)
      this.state.snapshots.truncateTo(this.logEndOffset)
      this.durability.truncated(this.logEndOffset)
      replayProducers(segments, this.state, this.platform)
    } catch (error) {
      throw this.met(error)
    }
    this.#afterTruncation()
  }

  /** Drops everything; the log goes on at `offset`. */
  truncateFullyAndStartAt(offset: number): void {
    try {
      this.#startOver(offset)
    } catch (error) {
      throw this.met(error)
    }
    this.watermark = offset
    this.#afterTruncation()
    this.listener.logStartMoved?.()
  }

  #startOver(offset: number): void {
    this.local.startOver(offset)
    this.state.clear()
    this.durability.truncated(offset)
    this.beganAnew(offset)
  }

  #afterTruncation(): void {
    const end = this.logEndOffset
    if (end <= (this.#doubtfulFrom ?? 0)) this.#doubtfulFrom = undefined
    const { epochs, producers } = this.state
    this.watermark = Math.min(this.watermark, end)
    producers.transactions.replicatedUpTo(this.watermark)
    epochs.truncateFromEnd(end)
    this.state.writeEpochs()
    this.listener.truncated?.()
    this.#tellCleaner()
    if (this.startOffset <= end) return
    this.startOffset = end
    this.notedStart = end
    this.listener.logStartMoved?.()
  }

  /**
   * Sees to it that whoever opens the log after a power cut does not trust what lies behind `offset`, where it is to be cut: new records
   * may come there that are not flushed yet. Undefined when that is so: then it may be cut at once.
   *
   * @throws {KafkaError} KAFKA_STORAGE_ERROR when it cannot be found out where that is
   */
  noteCut(offset: number): Later<StorageFailure | undefined> | undefined {
    if (this.storage.isVolatile) return undefined
    const endOffset = this.#endWhenCutAt(offset)
    this.durability.lowerRecoveryPoint(endOffset)
    return this.listener.cutting?.(endOffset)
  }

  #endWhenCutAt(offset: number): number {
    try {
      return this.local.endWhenCutAt(offset)
    } catch (error) {
      throw this.met(error)
    }
  }

  /** The log as the cleaner sees it. */
  get cleanable(): CleanableLog {
    return {
      ...{ topicPartition: this.topicPartition, directory: this.directory, storage: this.storage, env: this.env },
      ...{ platform: this.platform, config: this.config, segments: this.local.segments },
      isCompacted: () => this.config.compact,
      bounds: () => ({
        logStartOffset: this.logStartOffset,
        logEndOffset: this.logEndOffset,
        // What comes to the disk as the end of the log is left alone until it is there.
        lastStableOffset: Math.min(this.lastStableOffset, this.storage.isVolatile ? UNLIMITED : this.recoveryPoint),
      }),
      producers: () => this.producers(),
      abortedBetween: (from, to) =>
        this.local.segments
          .all()
          .flatMap(segment => segment.aborted.all())
          .filter(({ firstOffset, lastOffset }) => lastOffset >= from && firstOffset < to),
    }
  }

  /** Settles once everything appended so far would survive a power cut; after a failure it fails for ever. */
  flush(): Later<StorageFailure | undefined> {
    return this.durability.flush()
  }

  /** Settles once {@link recoveryPoint} is where the log ends now: then there is nothing to read when it is opened again. */
  checkpoint(): Later<StorageFailure | undefined> {
    return this.durability.checkpoint()
  }

  /** A checkpoint; then it lets go of the files. */
  close(): Later<StorageFailure | undefined> {
    this.isClosed = true
    this.local.segments.cancel()
    return closeAfter(this.env.turns, this.durability.close(), () => this.local.segments.close())
  }

  /** Lets go of the files as they are: the log is to be deleted. What readers hold stays valid. */
  abandon(): void {
    this.isClosed = true
    this.durability.cancel()
    this.local.segments.close()
  }

  /** Removes the log with its directory. What readers hold stays valid. */
  delete(): Later<StorageFailure | undefined> {
    this.abandon()
    return this.storage.remove(this.directory)
  }
}
