/**
 * The side of a log that changes nothing: where it stands, what can be read of it, what is known of epochs and producers. `Log` is
 * the other side.
 */

import { KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Crc32c } from '../records/crc32c.ts'
import { RecordsError } from '../records/records-error.ts'
import { isShortOfRoom, type Storage, StorageError, type StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { toKafkaError } from './append-error.ts'
import { Durability } from './durability.ts'
import type { EpochEndOffset } from './leader-epochs.ts'
import { LocalLog } from './local-log.ts'
import type { LogConfig } from './log-config.ts'
import type { LogListener, LogOptions } from './log-options.ts'
import { LogState } from './log-state.ts'
import type { ProducerEntry } from './producer-state.ts'
import { availableBytes, type Isolation, type ReadOptions, type ReadResult, readBatches } from './read.ts'
import { findMaxTimestamp, findTimestamp, type TimestampOffset } from './timestamps.ts'
import type { AbortedTransactionEntry } from './transaction-index.ts'

export abstract class ReadableLog {
  readonly directory: string
  /** `topic-partition`, for messages. */
  readonly topicPartition: string
  protected readonly env: Env
  protected readonly storage: Storage
  protected readonly platform: RecordsPlatform
  protected readonly listener: LogListener
  protected readonly local: LocalLog
  protected readonly state: LogState
  protected readonly durability: Durability
  /** Checks what is read, from a storage that may give back other bytes than it was given. */
  readonly #crc32c: Crc32c | undefined
  /** What was told of it last, so that a reader who tries again and again does not fill the log. */
  #corruption = ''
  protected startOffset = 0
  /** Segments that ended below are gone for good. */
  protected removedBefore = 0
  protected watermark = 0

  protected constructor(options: LogOptions) {
    const { storage, directory, env, platform, listener = {} } = options
    this.directory = directory
    this.topicPartition = directory.slice(directory.lastIndexOf('/') + 1)
    this.env = env
    this.storage = storage
    this.platform = platform
    this.listener = listener
    this.#crc32c = storage.isVolatile ? undefined : platform.crc32c
    this.local = new LocalLog(options)
    this.state = new LogState(options)
    this.durability = new Durability({
      storage,
      env,
      local: this.local,
      state: this.state,
      directory,
      topicPartition: this.topicPartition,
      flushed: () => listener.flushed?.(),
      failed: failure => listener.failed?.(failure),
    })
  }

  get config(): LogConfig {
    return this.local.config
  }

  /** The first offset that may be read. */
  get logStartOffset(): number {
    return this.startOffset
  }

  /** The offset that the next record gets. */
  get logEndOffset(): number {
    return this.local.endOffset
  }

  /** The offset below which everything is replicated, as the broker said with `Log.updateHighWatermark`. */
  get highWatermark(): number {
    return this.watermark
  }

  /** The offset below which every transaction is decided, for good. */
  get lastStableOffset(): number {
    const { transactions } = this.state.producers
    if (transactions.isEmpty) return this.watermark
    return Math.min(this.watermark, transactions.firstUnstableOffset ?? this.watermark)
  }

  /** The last leader epoch that wrote or was to write, or −1. */
  get latestEpoch(): number {
    return this.state.epochs.latestEpoch
  }

  /** What lies below survives a power cut. In a storage that is gone with the process, everything is as safe as it can be. */
  get flushedOffset(): number {
    return this.durability.flushedOffset
  }

  /** Where the active segment begins: whatever lies before it was brought to the disk when it was rolled. */
  get activeSegmentOffset(): number {
    return this.local.segments.active.baseOffset
  }

  /**
   * Below it a log that is opened again has nothing to read: batches, indexes, producers and epochs are on the disk. It moves with
   * `Log.checkpoint` and `Log.roll`.
   */
  get recoveryPoint(): number {
    return this.durability.recoveryPoint
  }

  /** Why the log is offline; undefined as long as it is not. */
  get failure(): StorageFailure | undefined {
    return this.durability.failure
  }

  get sizeInBytes(): number {
    return this.local.segments.sizeInBytes
  }

  /** Where the first segment begins, which is at or below the log start offset, even after a power cut that brings removed ones back. */
  get firstSegmentOffset(): number {
    return Math.min(this.removedBefore, this.local.segments.first.baseOffset)
  }

  get segmentCount(): number {
    return this.local.segments.count
  }

  /** False when the cleaner would find nothing to do in it. */
  get mayNeedCleaning(): boolean {
    const { segments } = this.local
    return segments.count > 1 || segments.wasCut || this.config.delete
  }

  /**
   * Reads whole batches, from the one that contains `offset` on, up to where the isolation lets the reader see.
   *
   * @throws {KafkaError} OFFSET_OUT_OF_RANGE outside of log start and log end offset
   */
  read(offset: number, options: ReadOptions): ReadResult {
    if (offset < this.startOffset || offset > this.logEndOffset) {
      throw new KafkaError(
        'OFFSET_OUT_OF_RANGE',
        `offset ${offset} of ${this.topicPartition}, which has ${this.startOffset} to ${this.logEndOffset}`,
      )
    }
    try {
      return readBatches(this.local.segments, offset, this.#bound(options.isolation), options, this.#crc32c)
    } catch (error) {
      throw this.metReading(error)
    }
  }

  /** How many bytes a read from `offset` could see; counting ends at `max`. */
  availableBytes(offset: number, isolation: Isolation, max: number): number {
    try {
      return availableBytes(this.local.segments, Math.max(offset, this.startOffset), this.#bound(isolation), max)
    } catch (error) {
      throw this.metReading(error)
    }
  }

  #bound(isolation: Isolation): { boundOffset: number; logEndOffset: number } {
    const logEndOffset = this.logEndOffset
    if (isolation === 'log_end') return { boundOffset: logEndOffset, logEndOffset }
    return { boundOffset: isolation === 'last_stable' ? this.lastStableOffset : this.watermark, logEndOffset }
  }

  /** The first record at `timestamp` or later, whether replicated or not; undefined when there is none. */
  offsetForTimestamp(timestamp: number): TimestampOffset | undefined {
    try {
      return findTimestamp(this.local.segments, timestamp, this.startOffset, this.platform)
    } catch (error) {
      throw this.metReading(error)
    }
  }

  /** The first record with the largest time of all; undefined when none has a time. */
  maxTimestamp(): TimestampOffset | undefined {
    try {
      return findMaxTimestamp(this.local.segments, this.startOffset, this.platform)
    } catch (error) {
      throw this.metReading(error)
    }
  }

  /** The leader epoch that wrote `offset`, or undefined. */
  epochForOffset(offset: number): number | undefined {
    return this.state.epochs.epochFor(offset)
  }

  /** Where a leader epoch ended; −1 for both when that is not known. */
  endOffsetForEpoch(epoch: number): EpochEndOffset {
    return this.state.epochs.endOffsetFor(epoch, this.logEndOffset)
  }

  /** What is known of producers, for DescribeProducers. */
  producers(): ProducerEntry[] {
    return [...this.state.producers.all()]
  }

  /** Aborted transactions in the log, in the order of their markers. */
  abortedTransactions(): AbortedTransactionEntry[] {
    const entries = this.local.segments.all().flatMap(segment => segment.aborted.all())
    return entries.filter(({ lastOffset }) => lastOffset >= this.startOffset)
  }

  /** What was met, as a protocol error. A storage that fails, other than for want of room, takes the log offline. */
  protected met(error: unknown): unknown {
    if (error instanceof StorageError && !isShortOfRoom(error.code)) {
      this.durability.fail({ code: error.code, message: error.message })
    }
    return toKafkaError(error)
  }

  /** As {@link met}, for what was read: bytes that are not as they were written are told in the log, and not served. */
  protected metReading(error: unknown): unknown {
    if (error instanceof RecordsError && error.message !== this.#corruption) {
      this.#corruption = error.message
      this.env.log('error', 'a log is corrupt', { partition: this.topicPartition, error: error.message })
    }
    return this.met(error)
  }
}
