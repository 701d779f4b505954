/**
 * One partition's log on one broker: batches with growing offsets in segments, and what they add up to (Kafka's
 * `UnifiedLog`). It knows bytes, offsets, epochs and producers. Who leads, who may write, when the high watermark moves and
 * who waits for it is the broker's business.
 */

import { KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { type AbortedTransactionEntry, AbortedTransactions } from './aborted-transactions.ts'
import { toKafkaError } from './append-error.ts'
import { type AppendResult, appended, duplicated, joined } from './append-result.ts'
import { Checkpoints } from './checkpoints.ts'
import { prepareFollowerAppend } from './follower-append.ts'
import {
  type AppendContext,
  type LeaderAppendOptions,
  type PreparedAppend,
  prepareLeaderAppend,
} from './leader-append.ts'
import { type EpochEndOffset, LeaderEpochs } from './leader-epochs.ts'
import { LocalLog } from './local-log.ts'
import type { LogConfig } from './log-config.ts'
import { type ProducerEntry, ProducerStates } from './producer-state.ts'
import { availableBytes, type Isolation, type ReadOptions, type ReadResult, readBatches } from './read.ts'
import { applyBatch, type BatchEffects, recoverSegments, replayProducers } from './recovery.ts'
import { segmentsToDelete } from './retention.ts'
import { findMaxTimestamp, findTimestamp, type TimestampOffset } from './timestamps.ts'

export type { AppendResult } from './append-result.ts'
export type { LeaderAppendOptions } from './leader-append.ts'
export type { LogConfig } from './log-config.ts'
export type { Isolation, ReadOptions, ReadResult } from './read.ts'
export type { TimestampOffset } from './timestamps.ts'

export interface LogOptions {
  storage: Storage
  /** Where its files are, below the root of the storage; the last name is `topic-partition`. */
  directory: string
  config: LogConfig
  env: Env
  platform: RecordsPlatform
  /** The last known high watermark; the log start offset by default. */
  highWatermark?: number
  /** Up to where the files are known to be synced; checksums of whole segments below it are not looked at. */
  recoveryPoint?: number
  /** True forgets producers that have no open transaction: whatever sequence they go on with is taken. */
  forgetProducers?: boolean
  /** True for what the broker needs to go on: it may grow beyond the limit of the storage. */
  exempt?: boolean
}

/**
 * See the head of the file.
 *
 * @example
 * const log = Log.open({ storage, directory: 'orders-0', config: DEFAULT_LOG_CONFIG, env, platform })
 * const { lastOffset } = log.appendAsLeader(batch, { leaderEpoch: 0, now: env.now(), origin: 'client' })
 * log.updateHighWatermark(lastOffset + 1)
 * log.read(0, { maxBytes: 1_000_000, minOneBatch: true, isolation: 'high_watermark' }).parts
 */
export class Log {
  readonly directory: string
  /** `topic-partition`, for messages. */
  readonly topicPartition: string
  readonly #env: Env
  readonly #platform: RecordsPlatform
  readonly #local: LocalLog
  readonly #checkpoints: Checkpoints
  readonly #epochs = new LeaderEpochs()
  readonly #producers = new ProducerStates()
  readonly #aborted = new AbortedTransactions()
  readonly #effects: BatchEffects = { epochs: this.#epochs, producers: this.#producers, aborted: this.#aborted }
  #logStartOffset = 0
  #highWatermark = 0

  /** Opens the log in a directory, or begins one. What a crash left half written at its end is dropped. */
  static open(options: LogOptions): Log {
    const log = new Log(options)
    log.#recover(options)
    return log
  }

  private constructor(options: LogOptions) {
    const { storage, directory, env } = options
    this.directory = directory
    this.topicPartition = directory.slice(directory.lastIndexOf('/') + 1)
    this.#env = env
    this.#platform = options.platform
    this.#local = new LocalLog(options)
    this.#checkpoints = new Checkpoints(storage, directory, env)
  }

  #recover(options: LogOptions): void {
    for (const { epoch, startOffset } of this.#checkpoints.readEpochs()) this.#epochs.assign(epoch, startOffset)
    for (const producer of this.#checkpoints.readProducers()) this.#producers.restore(producer)
    const { recoveryPoint = 0 } = options
    const { segments } = this.#local
    this.#local.recovered(recoverSegments(segments, this.#effects, { ...options, recoveryPoint }))
    this.#logStartOffset = Math.max(this.#checkpoints.readLogStartOffset(), segments.first.baseOffset)
    if (this.#logStartOffset > this.logEndOffset) this.#local.startOver(this.#logStartOffset)
    // An epoch may begin at the log end, without a record yet.
    this.#epochs.truncateFromEnd(this.logEndOffset + 1)
    this.#epochs.truncateFromStart(this.#logStartOffset)
    this.#aborted.truncateFromStart(this.#logStartOffset)
    const highWatermark = options.highWatermark ?? this.#logStartOffset
    this.#highWatermark = Math.min(Math.max(highWatermark, this.#logStartOffset), this.logEndOffset)
    this.#producers.transactions.replicatedUpTo(this.#highWatermark)
    if (options.forgetProducers) this.#producers.expire(Number.MAX_SAFE_INTEGER, 0)
  }

  get config(): LogConfig {
    return this.#local.config
  }

  /** Takes effect with the next append, roll or retention. */
  updateConfig(config: LogConfig): void {
    this.#local.updateConfig(config)
  }

  /** The first offset that may be read. */
  get logStartOffset(): number {
    return this.#logStartOffset
  }

  /** The offset that the next record gets. */
  get logEndOffset(): number {
    return this.#local.endOffset
  }

  /** The offset below which everything is replicated, as the broker said with {@link updateHighWatermark}. */
  get highWatermark(): number {
    return this.#highWatermark
  }

  /** The offset below which every transaction is decided, for good. */
  get lastStableOffset(): number {
    const { transactions } = this.#producers
    if (transactions.isEmpty) return this.#highWatermark
    return Math.min(this.#highWatermark, transactions.firstUnstableOffset ?? this.#highWatermark)
  }

  /** The last leader epoch that wrote or was to write, or −1. */
  get latestEpoch(): number {
    return this.#epochs.latestEpoch
  }

  /** Up to where a {@link flush} has brought it: what lies below survives a power cut. */
  get flushedOffset(): number {
    return this.#local.flushedOffset
  }

  get sizeInBytes(): number {
    return this.#local.segments.sizeInBytes
  }

  get segmentCount(): number {
    return this.#local.segments.count
  }

  /**
   * Appends batches of a client or a coordinator: checks them, gives them offsets and the epoch in the given bytes, and
   * copies those into the storage once.
   *
   * @throws {KafkaError} and changes nothing in the log: {@link ProduceRecordsError} for what is not one batch,
   * {@link RecordsInvalidError} for refused records, POLICY_VIOLATION for a full storage, and all else that Kafka says
   */
  appendAsLeader(records: Uint8Array, options: LeaderAppendOptions): AppendResult {
    try {
      const prepared = prepareLeaderAppend(records, options, this.#appendContext())
      if ('duplicate' in prepared) {
        const { duplicate } = prepared
        return duplicated(duplicate, this.#epochs.epochFor(duplicate.lastOffset) ?? -1, this.#logStartOffset)
      }
      return this.#append(prepared, options.now)
    } catch (error) {
      throw toKafkaError(error)
    }
  }

  /**
   * Appends batches as their leader wrote them, with its offsets and epochs; a partial batch at the end is left out.
   * Undefined when there was no whole batch.
   *
   * @param options.leaderEpoch batches of a later epoch are left out
   * @throws {KafkaError} CORRUPT_MESSAGE or OFFSET_OUT_OF_RANGE, before anything is appended; a storage that is full may
   * have taken the first of several segments' worth
   */
  appendAsFollower(records: Uint8Array, options: { leaderEpoch?: number } = {}): AppendResult | undefined {
    try {
      let result: AppendResult | undefined
      for (const portion of prepareFollowerAppend(records, this.#appendContext(), options.leaderEpoch)) {
        result = joined(result, this.#append(portion, this.#env.now()))
      }
      return result
    } catch (error) {
      throw toKafkaError(error)
    }
  }

  #appendContext(): AppendContext {
    return {
      config: this.config,
      platform: this.#platform,
      producers: this.#producers,
      logEndOffset: this.logEndOffset,
      topicPartition: this.topicPartition,
    }
  }

  #append(prepared: PreparedAppend, now: number): AppendResult {
    this.#local.append(prepared, now)
    let epochsChanged = false
    for (const { header, marker } of prepared.batches) {
      if (this.#epochs.assign(header.partitionLeaderEpoch, header.baseOffset)) epochsChanged = true
      applyBatch(header, marker, this.#effects)
    }
    if (epochsChanged) this.#checkpoints.writeEpochs(this.#epochs.entries)
    return appended(prepared, this.#logStartOffset)
  }

  /** Ends the active segment and begins another, unless it is empty. */
  roll(): void {
    this.#local.roll()
  }

  /** Takes over how far the log is replicated. It never goes back, nor beyond the log end. True when it moved. */
  updateHighWatermark(offset: number): boolean {
    const next = Math.min(offset, this.logEndOffset)
    if (next <= this.#highWatermark) return false
    this.#highWatermark = next
    this.#producers.transactions.replicatedUpTo(next)
    return true
  }

  /**
   * Reads whole batches, from the one that contains `offset` on, up to where the isolation lets the reader see.
   *
   * @throws {KafkaError} OFFSET_OUT_OF_RANGE outside of log start and log end offset
   */
  read(offset: number, options: ReadOptions): ReadResult {
    if (offset < this.#logStartOffset || offset > this.logEndOffset) {
      throw new KafkaError(
        'OFFSET_OUT_OF_RANGE',
        `offset ${offset} of ${this.topicPartition}, which has ${this.#logStartOffset} to ${this.logEndOffset}`,
      )
    }
    return readBatches(this.#local.segments, this.#aborted, offset, this.#bound(options.isolation), options)
  }

  /** How many bytes a read from `offset` could see; counting ends at `max`. */
  availableBytes(offset: number, isolation: Isolation, max: number): number {
    return availableBytes(this.#local.segments, Math.max(offset, this.#logStartOffset), this.#bound(isolation), max)
  }

  #bound(isolation: Isolation): { boundOffset: number; logEndOffset: number } {
    const logEndOffset = this.logEndOffset
    if (isolation === 'log_end') return { boundOffset: logEndOffset, logEndOffset }
    return { boundOffset: isolation === 'last_stable' ? this.lastStableOffset : this.#highWatermark, logEndOffset }
  }

  /** The first record at `timestamp` or later, whether replicated or not; undefined when there is none. */
  offsetForTimestamp(timestamp: number): TimestampOffset | undefined {
    try {
      return findTimestamp(this.#local.segments, timestamp, this.#logStartOffset, this.#platform)
    } catch (error) {
      throw toKafkaError(error)
    }
  }

  /** The first record with the largest time of all; undefined when none has a time. */
  maxTimestamp(): TimestampOffset | undefined {
    try {
      return findMaxTimestamp(this.#local.segments, this.#logStartOffset, this.#platform)
    } catch (error) {
      throw toKafkaError(error)
    }
  }

  /** The leader epoch that wrote `offset`, or undefined. */
  epochForOffset(offset: number): number | undefined {
    return this.#epochs.epochFor(offset)
  }

  /** Where a leader epoch ended; −1 for both when that is not known. */
  endOffsetForEpoch(epoch: number): EpochEndOffset {
    return this.#epochs.endOffsetFor(epoch, this.logEndOffset)
  }

  /** Notes that `epoch` writes from `offset` on: what a new leader does before its first append. */
  assignEpochStartOffset(epoch: number, offset: number): void {
    if (this.#epochs.assign(epoch, offset)) this.#checkpoints.writeEpochs(this.#epochs.entries)
  }

  /**
   * Drops what lies at or behind `offset`, whole batches: one that reaches across goes too. Nothing happens when the log
   * ends before it.
   */
  truncateTo(offset: number): void {
    const { segments } = this.#local
    if (offset >= this.logEndOffset) return
    if (offset < segments.first.baseOffset) return this.truncateFullyAndStartAt(offset)
    this.#local.truncateTo(offset)
    replayProducers(segments, this.#effects, this.#platform)
    this.#afterTruncation()
  }

  /** Drops everything; the log goes on at `offset`. */
  truncateFullyAndStartAt(offset: number): void {
    this.#local.startOver(offset)
    this.#producers.clear()
    this.#checkpoints.writeProducers([])
    this.#aborted.clear()
    this.#epochs.clear()
    this.#logStartOffset = offset
    this.#checkpoints.writeLogStartOffset(offset)
    this.#highWatermark = offset
    this.#afterTruncation()
  }

  #afterTruncation(): void {
    const end = this.logEndOffset
    this.#highWatermark = Math.min(this.#highWatermark, end)
    this.#producers.transactions.replicatedUpTo(this.#highWatermark)
    this.#epochs.truncateFromEnd(end)
    this.#checkpoints.writeEpochs(this.#epochs.entries)
    if (this.#logStartOffset > end) {
      this.#logStartOffset = end
      this.#checkpoints.writeLogStartOffset(end)
    }
  }

  /**
   * Moves the log start offset up (DeleteRecords); segments below it go with the next retention. Returns it.
   *
   * @throws {KafkaError} OFFSET_OUT_OF_RANGE above the high watermark
   */
  deleteRecordsBefore(offset: number): number {
    if (offset > this.#highWatermark) {
      throw new KafkaError('OFFSET_OUT_OF_RANGE', `offset ${offset} is above the high watermark ${this.#highWatermark}`)
    }
    if (offset > this.#logStartOffset) {
      // A file's name says where the log starts, unless that lies within the file.
      this.#checkpoints.writeLogStartOffset(offset)
      this.#moveLogStart(offset)
    }
    return this.#logStartOffset
  }

  #moveLogStart(offset: number): void {
    this.#logStartOffset = offset
    if (this.#epochs.truncateFromStart(offset)) this.#checkpoints.writeEpochs(this.#epochs.entries)
    this.#aborted.truncateFromStart(offset)
  }

  /** Drops the segments whose time has come, and producers nobody has heard of for long. Returns how many segments. */
  applyRetention(now: number): number {
    const { logStartOffset, logEndOffset, highWatermark, config } = this
    const { segments } = this.#local
    this.#producers.expire(now, config.producerIdExpirationMs)
    const count = segmentsToDelete(segments, config, { logStartOffset, logEndOffset, highWatermark }, now)
    if (count === 0) return 0
    this.#local.deleteOldest(count)
    const { baseOffset } = segments.first
    if (baseOffset > logStartOffset) this.#moveLogStart(baseOffset)
    // Producers outlive their records: a resend of a batch that is gone is still a duplicate.
    this.#checkpoints.writeProducers(this.#producers.before(baseOffset))
    return count
  }

  /** What is known of producers, for DescribeProducers. */
  producers(): ProducerEntry[] {
    return [...this.#producers.all()]
  }

  /** Aborted transactions in the log, in the order of their markers. */
  abortedTransactions(): readonly AbortedTransactionEntry[] {
    return this.#aborted.entries
  }

  /** Settles once everything appended so far would survive a power cut; after a failure it fails for ever. */
  flush(): Later<StorageFailure | undefined> {
    return this.#local.flush()
  }

  /** Flushes and lets go of the files. */
  close(): Later<StorageFailure | undefined> {
    return this.#local.close()
  }

  /** Removes the log with its directory. What readers hold stays valid. */
  delete(): Later<StorageFailure | undefined> {
    return this.#local.delete()
  }
}
