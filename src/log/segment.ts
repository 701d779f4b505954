/**
 * One segment: a file of whole batches that begins at its base offset, with its indexes (Kafka's `LogSegment`). It finds
 * positions; what it is given it does not judge, but what it finds in its file has to be a batch.
 */

import { LARGEST_OFFSET_DELTA } from '../core/compaction.ts'
import {
  BATCH_OVERHEAD,
  batchBaseOffset,
  batchLastOffset,
  batchMagic,
  batchMaxTimestamp,
  batchSize,
  MAGIC_V2,
} from '../records/batch-header.ts'
import { RecordsError } from '../records/records-error.ts'
import type { StorageFailure, StorageFile } from '../storage/storage.ts'
import { concat } from '../util/byte-writer.ts'
import type { Later } from '../util/later.ts'
import { BatchScanner } from './batch-scanner.ts'
import type { PositionIndexes, SegmentIndexes } from './segment-indexes.ts'
import type { TransactionIndex } from './transaction-index.ts'

/** The header that was looked at last: nothing here is re-entrant, so one buffer serves all segments. */
const peeked = new Uint8Array(BATCH_OVERHEAD)

export interface SegmentOptions {
  now: number
  indexIntervalBytes: number
  indexes: SegmentIndexes
  /** See `Env.aheadOfClients`. */
  agesByAppend?: boolean
}

export class Segment {
  readonly baseOffset: number
  readonly file: StorageFile
  readonly #indexes: SegmentIndexes
  /** When it was made or opened, on the clock of this broker; in milliseconds. */
  readonly createdMs: number
  #lastModifiedMs: number
  #firstAppendedMs: number
  /** The largest record time in it, or −1, and the last offset of the first batch that has it; unknown until {@link #knowMax}. */
  #maxTimestamp = -1
  #offsetOfMaxTimestamp = -1
  #knowsMax: boolean
  /** Whether the indexes are in memory and go on where the file ends. */
  #isWritable: boolean
  #firstTimestamp: number | undefined
  /** Ages count from when the broker appended, since records bear the times of clients that it is ahead of. */
  readonly #agesByAppend: boolean
  #unindexedBytes = 0
  readonly #indexIntervalBytes: number

  constructor(file: StorageFile, baseOffset: number, options: SegmentOptions) {
    this.file = file
    this.baseOffset = baseOffset
    this.#indexes = options.indexes
    this.#knowsMax = options.indexes.loaded !== undefined
    this.#isWritable = this.#knowsMax
    this.createdMs = options.now
    this.#lastModifiedMs = (this.size > 0 ? file.modifiedMs : undefined) ?? options.now
    this.#firstAppendedMs = options.now
    this.#indexIntervalBytes = options.indexIntervalBytes
    this.#agesByAppend = options.agesByAppend ?? false
  }

  /** Bytes in it. */
  get size(): number {
    return this.file.size
  }

  /** The largest record time in it, or −1. */
  get maxTimestamp(): number {
    this.#knowMax()
    return this.#maxTimestamp
  }

  /** The last offset of the first batch with the largest record time, or −1. */
  get offsetOfMaxTimestamp(): number {
    this.#knowMax()
    return this.#offsetOfMaxTimestamp
  }

  /** When its file was last written, in milliseconds: outlives the process, where the storage does. */
  get lastModifiedMs(): number {
    return this.#lastModifiedMs
  }

  /** Gives it the age of others: what is in it was theirs. */
  set lastModifiedMs(modifiedMs: number) {
    this.#lastModifiedMs = modifiedMs
    this.file.setModified(modifiedMs)
  }

  /** What retention by time goes by: the largest record time, or when it was written where records have none, or none that counts. */
  get largestTimestamp(): number {
    if (this.#agesByAppend) return this.lastModifiedMs
    return this.maxTimestamp >= 0 ? this.maxTimestamp : this.lastModifiedMs
  }

  /** From when on its age counts: the maximum timestamp of its first batch, or when that was appended; −1 when there is none. */
  get firstTimestamp(): number {
    if (this.size === 0) return -1
    if (this.#agesByAppend) return this.#firstAppendedMs
    this.#firstTimestamp ??= batchMaxTimestamp(this.#peek(0), 0)
    return this.#firstTimestamp
  }

  /** Aborted transactions whose markers are in it. */
  get aborted(): TransactionIndex {
    return this.#indexes.aborted
  }

  /** Appends bytes that hold whole batches; the caller {@link index}es them. All or nothing. */
  append(records: Uint8Array, now: number, immutable = false): void {
    // It was opened to be read only, until now.
    if (!this.#isWritable) this.#indexFrom(this.resumeAt(Number.MAX_SAFE_INTEGER))
    if (this.size === 0) this.#firstAppendedMs = now
    this.file.appendv([records], { immutable, nowMs: now })
    this.#lastModifiedMs = now
  }

  /** Takes a batch into the indexes. Called for every batch, in order. */
  index(lastOffset: number, maxTimestamp: number, position: number, size: number): void {
    const { offsets, times } = this.#positions
    if (maxTimestamp > this.#maxTimestamp) {
      this.#maxTimestamp = maxTimestamp
      this.#offsetOfMaxTimestamp = lastOffset
    }
    if (this.#unindexedBytes > this.#indexIntervalBytes) {
      offsets.append(lastOffset, position)
      if (this.#maxTimestamp >= 0) times.append(this.#maxTimestamp, this.#offsetOfMaxTimestamp)
      this.#unindexedBytes = 0
    }
    this.#unindexedBytes += size
  }

  /** Whether batches of `size` bytes up to `lastOffset`, with the newest record at `maxTimestamp`, need a new segment. */
  isFullFor(
    batches: { size: number; lastOffset: number; maxTimestamp: number },
    limits: { segmentBytes: number; segmentMs: number; now: number },
  ): boolean {
    if (batches.lastOffset - this.baseOffset > LARGEST_OFFSET_DELTA) return true
    if (this.size > limits.segmentBytes - batches.size) return true
    if (this.size === 0) return false
    if (this.#agesByAppend) return limits.now - this.#firstAppendedMs > limits.segmentMs
    const { firstTimestamp } = this
    const age = firstTimestamp >= 0 ? batches.maxTimestamp - firstTimestamp : limits.now - this.createdMs
    return age > limits.segmentMs
  }

  /** The position of the first batch that ends at or behind `offset`; the size of the segment when there is none. */
  positionOf(offset: number): number {
    const { size } = this
    let position = this.#positions.offsets.positionFor(offset)
    while (position < size) {
      this.#peek(position)
      if (batchLastOffset(peeked, 0) >= offset) break
      position += batchSize(peeked, 0)
    }
    return position
  }

  /** The end of the last whole batch from `start` on that ends at or before `limit`; `start` when none does. */
  endWithin(start: number, limit: number): number {
    if (limit >= this.size) return this.size
    let position = Math.max(start, this.#positions.offsets.floorPosition(limit))
    for (;;) {
      const end = position + this.sizeAt(position)
      if (end > limit) return position
      position = end
    }
  }

  /** The size of the batch at `position`. */
  sizeAt(position: number): number {
    return batchSize(this.#peek(position), 0)
  }

  baseOffsetAt(position: number): number {
    return batchBaseOffset(this.#peek(position), 0)
  }

  /** The whole batch at `position`, in one piece. */
  batchAt(position: number): Uint8Array {
    const parts = this.file.read(position, this.sizeAt(position))
    return parts.length === 1 ? parts[0] : concat(parts)
  }

  /** The position of the first batch with a record at `timestamp` or later that ends at or behind `fromOffset`. */
  positionOfTimestamp(timestamp: number, fromOffset: number): number | undefined {
    if (this.maxTimestamp < timestamp) return undefined
    const { offsets, times } = this.#positions
    const position = offsets.positionFor(Math.max(fromOffset, times.offsetFor(timestamp)))
    return this.#nextReaching(timestamp, fromOffset, position, this.size)
  }

  /** As {@link positionOfTimestamp}, behind the batch at `position`. */
  nextPositionOfTimestamp(timestamp: number, fromOffset: number, position: number): number | undefined {
    return this.#nextReaching(timestamp, fromOffset, position + this.sizeAt(position), this.size)
  }

  #nextReaching(timestamp: number, fromOffset: number, position: number, size: number): number | undefined {
    while (position < size) {
      this.#peek(position)
      if (batchMaxTimestamp(peeked, 0) >= timestamp && batchLastOffset(peeked, 0) >= fromOffset) return position
      position += batchSize(peeked, 0)
    }
    return undefined
  }

  /**
   * Makes it ready to be written to, or to be read again, from `offset` on: what the indexes say of that and of later offsets is
   * forgotten. Returns the position from which on the caller {@link index}es its batches again, which is that of a batch.
   */
  resumeAt(offset: number): number {
    const { offsets, times } = this.#indexes.loaded ?? this.#load() ?? this.#indexes.reset()
    this.#indexes.truncateTo(offset)
    const entries = offsets.entries.count
    const newest = times.entries.count - 1
    this.#setMax(newest < 0 ? [] : [times.timestampAt(newest), times.offsetAt(newest)])
    this.#unindexedBytes = 0
    this.#firstTimestamp = undefined
    this.#isWritable = true
    return entries === 0 ? 0 : offsets.positionAt(entries - 1)
  }

  /** Cuts the file at `position`, the begin of the first batch that ends at or behind `offset`. */
  truncateAt(position: number, offset: number): void {
    const start = this.resumeAt(offset)
    this.file.truncate(position)
    this.#indexFrom(start)
  }

  /** Makes the indexes again from the file. */
  reindex(): void {
    this.#indexes.reset()
    this.#setMax([])
    this.#unindexedBytes = 0
    this.#indexFrom(0)
  }

  #indexFrom(position: number): void {
    const scanner = new BatchScanner(this.file, position)
    while (scanner.next()) {
      const { window, at } = scanner
      this.index(batchLastOffset(window, at), batchMaxTimestamp(window, at), scanner.position, scanner.size)
    }
  }

  /** Writes the indexes to their files. Settles once they would survive a power cut. */
  writeIndexes(): Later<StorageFailure | undefined> {
    const { loaded } = this.#indexes
    // The last entry is the maximum, by which a segment's age is known without reading it.
    if (loaded !== undefined && this.#maxTimestamp >= 0) {
      loaded.times.append(this.#maxTimestamp, this.#offsetOfMaxTimestamp)
    }
    return this.#indexes.write()
  }

  /** It is written to no more: once its indexes are in their files they may be dropped from memory. */
  retire(): void {
    this.#indexes.retire()
  }

  close(): Later<StorageFailure | undefined> {
    this.#indexes.close()
    return this.file.close()
  }

  get #positions(): PositionIndexes {
    return this.#indexes.loaded ?? this.#load() ?? this.#remake()
  }

  /** The indexes from their files, if they can be right: their last entries are held against the segment. */
  #load(): PositionIndexes | undefined {
    const loaded = this.#indexes.load()
    if (loaded === undefined) return undefined
    const { offsets, times } = loaded
    const last = offsets.entries.count - 1
    const newest = times.entries.count - 1
    if (last >= 0) {
      const position = offsets.positionAt(last)
      if (position < 0 || position + BATCH_OVERHEAD > this.size || (last > 0 && position <= offsets.positionAt(0)))
        return
      this.file.readInto(position, peeked)
      if (batchMagic(peeked, 0) !== MAGIC_V2 || batchLastOffset(peeked, 0) !== offsets.offsetAt(last)) return
    }
    if (newest >= 0 && times.offsetAt(newest) < this.baseOffset) return
    if (newest > 0 && times.timestampAt(newest) <= times.timestampAt(0)) return
    if (!this.#knowsMax) this.#setMax(newest < 0 ? [] : [times.timestampAt(newest), times.offsetAt(newest)])
    return loaded
  }

  /** Makes indexes again that are not there or cannot be right, and puts them back into their files. */
  #remake(): PositionIndexes {
    this.reindex()
    this.#indexes.noteRemade()
    this.writeIndexes().whenSettled(() => this.retire())
    return this.#indexes.loaded as PositionIndexes
  }

  #knowMax(): void {
    if (this.#knowsMax) return
    const last = this.#indexes.lastTime()
    if (last !== undefined) this.#setMax(last)
    else if (this.#load() === undefined) this.#remake()
  }

  #setMax([timestamp = -1, offset = -1]: [number, number] | []): void {
    this.#maxTimestamp = timestamp
    this.#offsetOfMaxTimestamp = offset
    this.#knowsMax = true
  }

  /** Reads the header of the batch at `position`. What cannot be one is not gone by. */
  #peek(position: number): Uint8Array {
    const { file } = this
    const count = file.readInto(position, peeked)
    if (count === BATCH_OVERHEAD && batchMagic(peeked, 0) === MAGIC_V2) {
      const size = batchSize(peeked, 0)
      if (size >= BATCH_OVERHEAD && position + size <= file.size) return peeked
    }
    throw new RecordsError('CORRUPT_MESSAGE', `${file.path} is corrupt: there is no batch at position ${position}`)
  }
}
