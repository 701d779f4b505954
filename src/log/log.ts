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
import { Checkpoints } from './checkpoints.ts'
import { Flushes } from './flushes.ts'
import { prepareFollowerAppend } from './follower-append.ts'
import {
  type AppendContext,
  type LeaderAppendOptions,
  type PreparedAppend,
  prepareLeaderAppend,
} from './leader-append.ts'
import { type EpochEndOffset, LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import { type ProducerBatch, type ProducerEntry, ProducerStates } from './producer-state.ts'
import { availableBytes, type Isolation, type ReadOptions, type ReadResult, readBatches } from './read.ts'
import { applyBatch, type BatchEffects, recoverSegments, replayProducers } from './recovery.ts'
import { segmentsToDelete } from './retention.ts'
import { Segments } from './segments.ts'
import { findMaxTimestamp, findTimestamp, type TimestampOffset } from './timestamps.ts'

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
}

/** What became of an append. */
export interface AppendResult {
  firstOffset: number
  lastOffset: number
  lastLeaderEpoch: number
  /** In milliseconds; −1 unless the topic has LogAppendTime. For a duplicate the maximum timestamp of its batch. */
  logAppendTime: number
  maxTimestamp: number
  /** The last offset of the batch with the largest time. */
  shallowOffsetOfMaxTimestamp: number
  /** Nothing was appended: the producer sent one of its last five batches again. Offsets are those it got then. */
  duplicate: boolean
  /** Bytes appended. */
  sizeInBytes: number
  logStartOffset: number
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
  readonly #storage: Storage
  readonly #env: Env
  readonly #platform: RecordsPlatform
  readonly #segments: Segments
  readonly #checkpoints: Checkpoints
  readonly #epochs = new LeaderEpochs()
  readonly #producers = new ProducerStates()
  readonly #aborted = new AbortedTransactions()
  readonly #effects: BatchEffects = { epochs: this.#epochs, producers: this.#producers, aborted: this.#aborted }
  #config: LogConfig
  #logStartOffset = 0
  #logEndOffset = 0
  #highWatermark = 0
  readonly #flushes: Flushes

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
    this.#storage = storage
    this.#env = env
    this.#platform = options.platform
    this.#config = options.config
    this.#segments = new Segments(storage, directory, env)
    this.#checkpoints = new Checkpoints(storage, directory, env)
    this.#flushes = new Flushes(env.turns, options.recoveryPoint)
  }

  #recover(options: LogOptions): void {
    for (const { epoch, startOffset } of this.#checkpoints.readEpochs()) this.#epochs.assign(epoch, startOffset)
    const startOffset = this.#checkpoints.readLogStartOffset()
    const { recoveryPoint = 0 } = options
    this.#logEndOffset = recoverSegments(this.#segments, this.#effects, { ...options, recoveryPoint })
    if (this.#segments.count === 0) this.#segments.add(this.#logEndOffset, this.#config)
    this.#logStartOffset = Math.max(startOffset, this.#segments.first.baseOffset)
    if (this.#logStartOffset > this.#logEndOffset) this.#startOver(this.#logStartOffset)
    this.#epochs.truncateFromEnd(this.#logEndOffset + 1)
    this.#epochs.truncateFromStart(this.#logStartOffset)
    this.#aborted.truncateFromStart(this.#logStartOffset)
    this.#flushes.truncate(this.#logEndOffset)
    const highWatermark = options.highWatermark ?? this.#logStartOffset
    this.#highWatermark = Math.min(Math.max(highWatermark, this.#logStartOffset), this.#logEndOffset)
    this.#producers.transactions.replicatedUpTo(this.#highWatermark)
  }

  get config(): LogConfig {
    return this.#config
  }

  /** Takes effect with the next append, roll or retention. */
  updateConfig(config: LogConfig): void {
    this.#config = config
  }

  /** The first offset that may be read. */
  get logStartOffset(): number {
    return this.#logStartOffset
  }

  /** The offset that the next record gets. */
  get logEndOffset(): number {
    return this.#logEndOffset
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
    return this.#flushes.offset
  }

  get sizeInBytes(): number {
    return this.#segments.sizeInBytes
  }

  get segmentCount(): number {
    return this.#segments.count
  }

  /**
   * Appends batches of a client or a coordinator: checks them, gives them offsets and the epoch in the given bytes, and
   * copies those into the storage once.
   *
   * @throws {KafkaError} and changes nothing in the log: {@link ProduceRecordsError} for what is not one batch,
   * {@link RecordsInvalidError} for refused records, and what d4 and d5 of the protocol say
   */
  appendAsLeader(records: Uint8Array, options: LeaderAppendOptions): AppendResult {
    try {
      const prepared = prepareLeaderAppend(records, options, this.#appendContext())
      if ('duplicate' in prepared) return this.#duplicateResult(prepared.duplicate)
      if (prepared.records.length > this.#config.segmentBytes) {
        throw new KafkaError(
          'RECORD_LIST_TOO_LARGE',
          `Message batch size is ${prepared.records.length} bytes in append to partition ${this.topicPartition}, which exceeds the maximum configured segment size of ${this.#config.segmentBytes}.`,
        )
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
      const portions = prepareFollowerAppend(records, this.#appendContext(), options.leaderEpoch)
      let result: AppendResult | undefined
      for (const portion of portions) {
        const appended = this.#append(portion, this.#env.now())
        if (result === undefined) result = appended
        else {
          const { lastOffset, lastLeaderEpoch } = appended
          result = { ...result, lastOffset, lastLeaderEpoch, sizeInBytes: result.sizeInBytes + appended.sizeInBytes }
        }
      }
      return result
    } catch (error) {
      throw toKafkaError(error)
    }
  }

  #appendContext(): AppendContext {
    return {
      config: this.#config,
      platform: this.#platform,
      producers: this.#producers,
      logEndOffset: this.#logEndOffset,
      topicPartition: this.topicPartition,
    }
  }

  #append(prepared: PreparedAppend, now: number): AppendResult {
    const { records, batches, lastOffset, maxTimestamp } = prepared
    this.#rollIfFull(prepared, now)
    const segment = this.#segments.active
    let position = segment.size
    segment.append(records, now)
    let epochsChanged = false
    let shallowOffsetOfMaxTimestamp = -1
    for (const { header, marker } of batches) {
      segment.index(header.baseOffset, header.maxTimestamp, position, header.sizeInBytes)
      position += header.sizeInBytes
      if (this.#epochs.assign(header.partitionLeaderEpoch, header.baseOffset)) epochsChanged = true
      applyBatch(header, marker, this.#effects)
      if (header.maxTimestamp === maxTimestamp && shallowOffsetOfMaxTimestamp < 0) {
        shallowOffsetOfMaxTimestamp = header.lastOffset
      }
    }
    this.#logEndOffset = lastOffset + 1
    if (epochsChanged) this.#checkpoints.writeEpochs(this.#epochs.entries)
    const last = batches[batches.length - 1].header
    return {
      firstOffset: batches[0].header.baseOffset,
      lastOffset,
      lastLeaderEpoch: last.partitionLeaderEpoch,
      logAppendTime: last.timestampType === 'LogAppendTime' ? last.maxTimestamp : -1,
      maxTimestamp,
      shallowOffsetOfMaxTimestamp,
      duplicate: false,
      sizeInBytes: records.length,
      logStartOffset: this.#logStartOffset,
    }
  }

  #duplicateResult(batch: ProducerBatch): AppendResult {
    return {
      firstOffset: batch.firstOffset,
      lastOffset: batch.lastOffset,
      lastLeaderEpoch: this.#epochs.epochFor(batch.lastOffset) ?? -1,
      logAppendTime: batch.timestamp,
      maxTimestamp: batch.timestamp,
      shallowOffsetOfMaxTimestamp: batch.lastOffset,
      duplicate: true,
      sizeInBytes: 0,
      logStartOffset: this.#logStartOffset,
    }
  }

  #rollIfFull(prepared: PreparedAppend, now: number): void {
    const { segmentBytes, segmentMs } = this.#config
    const batches = {
      size: prepared.records.length,
      lastOffset: prepared.lastOffset,
      maxTimestamp: prepared.maxTimestamp,
    }
    if (this.#segments.active.isFullFor(batches, { segmentBytes, segmentMs, now })) {
      this.#rollAt(prepared.batches[0].header.baseOffset)
    }
  }

  /** Ends the active segment and begins another, unless it is empty. */
  roll(): void {
    this.#rollAt(this.#logEndOffset)
  }

  #rollAt(baseOffset: number): void {
    const { active } = this.#segments
    if (active.size === 0 && active.baseOffset === baseOffset) return
    this.#segments.add(baseOffset, this.#config)
    this.#flushes.start(active.file)
  }

  /** Takes over how far the log is replicated. It never goes back, nor beyond the log end. True when it moved. */
  updateHighWatermark(offset: number): boolean {
    const next = Math.min(offset, this.#logEndOffset)
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
    if (offset < this.#logStartOffset || offset > this.#logEndOffset) {
      throw new KafkaError(
        'OFFSET_OUT_OF_RANGE',
        `offset ${offset} of ${this.topicPartition}, which has ${this.#logStartOffset} to ${this.#logEndOffset}`,
      )
    }
    return readBatches(this.#segments, this.#aborted, offset, this.#bound(options.isolation), options)
  }

  /** How many bytes a read from `offset` could see; counting ends at `max`. */
  availableBytes(offset: number, isolation: Isolation, max: number): number {
    return availableBytes(this.#segments, Math.max(offset, this.#logStartOffset), this.#bound(isolation), max)
  }

  #bound(isolation: Isolation): { boundOffset: number; logEndOffset: number } {
    const logEndOffset = this.#logEndOffset
    if (isolation === 'log_end') return { boundOffset: logEndOffset, logEndOffset }
    return { boundOffset: isolation === 'last_stable' ? this.lastStableOffset : this.#highWatermark, logEndOffset }
  }

  /** The first record at `timestamp` or later, whether replicated or not; undefined when there is none. */
  offsetForTimestamp(timestamp: number): TimestampOffset | undefined {
    try {
      return findTimestamp(this.#segments, timestamp, this.#logStartOffset, this.#platform)
    } catch (error) {
      throw toKafkaError(error)
    }
  }

  /** The first record with the largest time of all; undefined when none has a time. */
  maxTimestamp(): TimestampOffset | undefined {
    try {
      return findMaxTimestamp(this.#segments, this.#logStartOffset, this.#platform)
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
    return this.#epochs.endOffsetFor(epoch, this.#logEndOffset)
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
    if (offset >= this.#logEndOffset) return
    if (offset < this.#segments.first.baseOffset) return this.truncateFullyAndStartAt(offset)
    const index = this.#segments.floor(offset)
    this.#segments.remove(index + 1, this.#segments.count - index - 1, this.#config.fileDeleteDelayMs)
    const segment = this.#segments.active
    const position = segment.positionOf(offset)
    // Where a batch reached across, the log ends before that batch, so that it can be fetched again whole.
    this.#logEndOffset = position < segment.size ? Math.min(offset, segment.baseOffsetAt(position)) : offset
    segment.truncateAt(position)
    replayProducers(this.#segments, this.#effects, this.#platform)
    this.#afterTruncation()
  }

  /** Drops everything; the log goes on at `offset`. */
  truncateFullyAndStartAt(offset: number): void {
    this.#startOver(offset)
    this.#producers.clear()
    this.#aborted.clear()
    this.#logStartOffset = offset
    this.#checkpoints.writeLogStartOffset(offset)
    this.#epochs.clear()
    this.#highWatermark = offset
    this.#afterTruncation()
  }

  #startOver(offset: number): void {
    this.#segments.remove(0, this.#segments.count, this.#config.fileDeleteDelayMs)
    this.#segments.add(offset, this.#config)
    this.#logEndOffset = offset
  }

  #afterTruncation(): void {
    const end = this.#logEndOffset
    this.#highWatermark = Math.min(this.#highWatermark, end)
    this.#flushes.truncate(end)
    this.#producers.transactions.replicatedUpTo(this.#highWatermark)
    this.#epochs.truncateFromEnd(end)
    this.#checkpoints.writeEpochs(this.#epochs.entries)
    if (this.#logStartOffset > end) this.#moveLogStart(end)
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
    if (offset > this.#logStartOffset) this.#moveLogStart(offset)
    return this.#logStartOffset
  }

  #moveLogStart(offset: number): void {
    this.#logStartOffset = offset
    // A file's name says where the log starts, unless that lies within the file.
    if (offset > this.#segments.first.baseOffset) this.#checkpoints.writeLogStartOffset(offset)
    if (this.#highWatermark < offset) this.updateHighWatermark(offset)
    if (this.#epochs.truncateFromStart(offset)) this.#checkpoints.writeEpochs(this.#epochs.entries)
    this.#aborted.truncateFromStart(offset)
  }

  /** Drops the segments whose time has come, and producers nobody has heard of for long. Returns how many segments. */
  applyRetention(now: number): number {
    this.#producers.expire(now, this.#config.producerIdExpirationMs)
    const bounds = {
      logStartOffset: this.#logStartOffset,
      logEndOffset: this.#logEndOffset,
      highWatermark: this.#highWatermark,
    }
    const count = segmentsToDelete(this.#segments, this.#config, bounds, now)
    if (count === 0) return 0
    // There is always a segment to append to.
    if (count === this.#segments.count) this.roll()
    this.#segments.remove(0, count, this.#config.fileDeleteDelayMs)
    const { baseOffset } = this.#segments.first
    if (baseOffset > this.#logStartOffset) this.#moveLogStart(baseOffset)
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
    this.#flushes.start(this.#segments.active.file)
    return this.#flushes.finish(this.#logEndOffset)
  }

  /** Flushes and lets go of the files. */
  close(): Later<StorageFailure | undefined> {
    return this.#segments.closeAfter(this.flush())
  }

  /** Removes the log with its directory. What readers hold stays valid. */
  delete(): Later<StorageFailure | undefined> {
    this.#segments.close()
    return this.#storage.remove(this.directory)
  }
}
