/**
 * The beginning of a log, which moves up: by retention and by DeleteRecords (the `deleteOldSegments` and `maybeIncrementLogStartOffset` of
 * Kafka's `UnifiedLog`). On a disk it is written down first where the log begins, and then segments go: a power cut may bring some of them
 * back. What may go by age and size is in retention.ts; everything else of a log in log.ts.
 */

import { KafkaError } from '../protocol/errors.ts'
import { isShortOfRoom, type StorageFailure } from '../storage/storage.ts'
import type { Later } from '../util/later.ts'
import { ReadableLog } from './readable-log.ts'
import { segmentsToDelete } from './retention.ts'

export abstract class RetainedLog extends ReadableLog {
  /** Up to where the log start offset is known to whoever opens the log after a power cut: segments below may go. */
  protected notedStart = 0
  protected isClosed = false
  #timesBegun = 0

  /**
   * Ends the active segment and begins another, unless it is empty.
   *
   * @throws {KafkaError} KAFKA_STORAGE_ERROR when there can be no other one
   */
  abstract roll(baseOffset?: number): void

  /** Where the log begins, or later, for whoever opens it after a power cut: what was deleted below does not come back. */
  get durableStartOffset(): number {
    const { startOffset } = this
    if (this.storage.isVolatile) return startOffset
    // Where its first segment begins is known from the disk, too, unless those before it may come back.
    return Math.min(startOffset, Math.max(this.listener.notedLogStart?.().offset ?? 0, this.firstSegmentOffset))
  }

  /** Settles when {@link durableStartOffset} may have moved; undefined where it need not, or nothing is being done about it. */
  get notingStart(): Later<StorageFailure | undefined> | undefined {
    return this.durableStartOffset < this.startOffset ? this.listener.notedLogStart?.().writing : undefined
  }

  /**
   * Moves the log start offset up (DeleteRecords); segments below it go with the next retention. Returns it.
   *
   * @throws {KafkaError} OFFSET_OUT_OF_RANGE above the high watermark
   */
  deleteRecordsBefore(offset: number): number {
    if (offset > this.watermark) {
      throw new KafkaError('OFFSET_OUT_OF_RANGE', `offset ${offset} is above the high watermark ${this.watermark}`)
    }
    if (offset > this.startOffset) this.#moveLogStart(offset)
    return this.startOffset
  }

  /** Settles once it is written down; undefined when that is not needed. */
  #moveLogStart(offset: number): Later<StorageFailure | undefined> | undefined {
    this.startOffset = offset
    if (this.state.epochs.truncateFromStart(offset)) this.state.writeEpochs()
    const written = this.listener.logStartMoved?.()
    if (written === undefined || this.storage.isVolatile) {
      this.notedStart = offset
      return undefined
    }
    return written.map(failure => {
      // A full disk is no reason to keep what is there: that would keep it full.
      if (failure === undefined || isShortOfRoom(failure.code)) this.notedStart = Math.max(this.notedStart, offset)
      return failure
    })
  }

  /**
   * Drops the segments whose time has come, and producers nobody has heard of for long. Returns how many segments: none of a log that
   * has failed, or fails now. On a disk their files stay until it is written down where the log begins now.
   */
  applyRetention(now: number): number {
    const { logStartOffset, logEndOffset, highWatermark, config } = this
    const { segments } = this.local
    if (this.failure !== undefined) return 0
    this.state.producers.expire(now, config.producerIdExpirationMs)
    try {
      let count = segmentsToDelete(segments, config, { logStartOffset, logEndOffset, highWatermark }, now)
      // There is always one left.
      if (count === segments.count && !this.#rollIfThereIsRoom()) count--
      if (count === 0) return 0
      const { baseOffset } = segments.at(count)
      const written = baseOffset > logStartOffset ? this.#moveLogStart(baseOffset) : undefined
      if (written !== undefined) written.whenSettled(() => this.#removeOldest())
      else this.#removeOldest()
      return count
    } catch (error) {
      this.#retentionFailed(error)
      return 0
    }
  }

  /** False on a disk that is full: what else can go makes room for it. */
  #rollIfThereIsRoom(): boolean {
    try {
      this.roll()
      return true
    } catch (error) {
      if (!(error instanceof KafkaError) || this.failure !== undefined) throw error
      return false
    }
  }

  #retentionFailed(error: unknown): void {
    const thrown = this.metReading(error)
    if (!(thrown instanceof KafkaError)) throw thrown
  }

  /** The log was opened, and this is where its first segment begins: those before it may yet come back. */
  protected foundFirst(baseOffset: number): void {
    this.removedBefore = this.storage.isVolatile ? baseOffset : 0
    if (baseOffset > this.removedBefore) this.#removed(baseOffset)
  }

  /** Everything was dropped, and the log goes on at `offset`. */
  protected beganAnew(offset: number): void {
    this.startOffset = offset
    this.notedStart = offset
    this.removedBefore = 0
    this.#timesBegun++
  }

  /** Segments that ended below are gone, and for good once their directory is synced. */
  #removed(baseOffset: number): void {
    const begun = this.#timesBegun
    this.storage.syncDirectory(this.directory).whenSettled(failure => {
      if (failure !== undefined || begun !== this.#timesBegun) return
      this.removedBefore = Math.max(this.removedBefore, baseOffset)
    })
  }

  /** Removes the segments that end below the log start offset, as far as that is written down. */
  #removeOldest(): void {
    const { segments } = this.local
    if (this.isClosed || this.failure !== undefined) return
    let count = 0
    while (count + 1 < segments.count && segments.at(count + 1).baseOffset <= this.notedStart) count++
    if (count === 0) return
    try {
      this.local.deleteOldest(count)
      const { baseOffset } = segments.first
      this.durability.dropped(baseOffset)
      this.state.snapshots.prune(segments.baseOffsets())
      this.#removed(baseOffset)
    } catch (error) {
      this.#retentionFailed(error)
    }
  }
}
