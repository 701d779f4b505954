/**
 * One segment: a file of whole batches that begins at its base offset, with its indexes (Kafka's `LogSegment`). It finds
 * positions; it does not judge what it is given.
 */

import {
  BATCH_OVERHEAD,
  batchBaseOffset,
  batchLastOffset,
  batchMaxTimestamp,
  batchSize,
} from '../records/batch-header.ts'
import type { StorageFile } from '../storage/storage.ts'
import { concat } from '../util/byte-writer.ts'
import { OffsetIndex } from './offset-index.ts'
import { TimeIndex } from './time-index.ts'

const LARGEST_OFFSET_DELTA = 0x7fffffff

/** The header that was looked at last: nothing here is re-entrant, so one buffer serves all segments. */
const peeked = new Uint8Array(BATCH_OVERHEAD)

export interface SegmentOptions {
  now: number
  indexIntervalBytes: number
  /** See `Env.aheadOfClients`. */
  agesByAppend?: boolean
}

export class Segment {
  readonly baseOffset: number
  readonly file: StorageFile
  /** When it was made, and last written, on the clock of this broker; in milliseconds. */
  readonly createdMs: number
  lastModifiedMs: number
  #firstAppendedMs: number
  /** The largest record time in it, or −1, and the base offset of the first batch that has it. */
  maxTimestamp = -1
  offsetOfMaxTimestamp = -1
  /** The maximum timestamp of its first batch: the age of a segment counts from there. */
  #firstTimestamp: number | undefined
  /** Ages count from when the broker appended, since records bear the times of clients that it is ahead of. */
  readonly #agesByAppend: boolean
  readonly #offsets = new OffsetIndex()
  readonly #times = new TimeIndex()
  #unindexedBytes = 0
  readonly #indexIntervalBytes: number

  constructor(file: StorageFile, baseOffset: number, options: SegmentOptions) {
    this.file = file
    this.baseOffset = baseOffset
    this.createdMs = options.now
    this.lastModifiedMs = options.now
    this.#firstAppendedMs = options.now
    this.#indexIntervalBytes = options.indexIntervalBytes
    this.#agesByAppend = options.agesByAppend ?? false
  }

  /** Bytes in it. */
  get size(): number {
    return this.file.size
  }

  /** What retention by time goes by: the largest record time, or the clock where records have none, or none that counts. */
  get largestTimestamp(): number {
    return this.maxTimestamp >= 0 && !this.#agesByAppend ? this.maxTimestamp : this.lastModifiedMs
  }

  /** Appends bytes that hold whole batches; the caller {@link index}es them. All or nothing. */
  append(records: Uint8Array, now: number): void {
    if (this.size === 0) this.#firstAppendedMs = now
    this.file.appendv([records])
    this.lastModifiedMs = now
  }

  /** Takes the batch at `position` into the indexes. Called for every batch, in order. */
  index(baseOffset: number, maxTimestamp: number, position: number, size: number): void {
    this.#firstTimestamp ??= maxTimestamp
    if (maxTimestamp > this.maxTimestamp) {
      this.maxTimestamp = maxTimestamp
      this.offsetOfMaxTimestamp = baseOffset
    }
    if (this.#unindexedBytes > this.#indexIntervalBytes) {
      this.#offsets.append(baseOffset, position)
      if (this.maxTimestamp >= 0) this.#times.append(this.maxTimestamp, this.offsetOfMaxTimestamp)
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
    const first = this.#firstTimestamp ?? -1
    const age = first >= 0 ? batches.maxTimestamp - first : limits.now - this.createdMs
    return age > limits.segmentMs
  }

  /** The position of the first batch that ends at or behind `offset`; the size of the segment when there is none. */
  positionOf(offset: number): number {
    const { size } = this
    let position = this.#offsets.positionFor(offset)
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
    let position = Math.max(start, this.#offsets.floorPosition(limit))
    for (;;) {
      const end = position + this.sizeAt(position)
      if (end > limit) return position
      position = end
    }
  }

  /** The size of the batch at `position`. */
  sizeAt(position: number): number {
    this.#peek(position)
    return batchSize(peeked, 0)
  }

  baseOffsetAt(position: number): number {
    this.#peek(position)
    return batchBaseOffset(peeked, 0)
  }

  /** The whole batch at `position`, in one piece. */
  batchAt(position: number): Uint8Array {
    const parts = this.file.read(position, this.sizeAt(position))
    return parts.length === 1 ? parts[0] : concat(parts)
  }

  /** The position of the first batch with a record at `timestamp` or later that ends at or behind `fromOffset`. */
  positionOfTimestamp(timestamp: number, fromOffset: number): number | undefined {
    if (this.maxTimestamp < timestamp) return undefined
    const { size } = this
    const position = this.#offsets.positionFor(Math.max(fromOffset, this.#times.offsetFor(timestamp)))
    return this.#nextReaching(timestamp, fromOffset, position, size)
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

  /** Cuts the file at `position`, the begin of a batch, and makes the indexes again. */
  truncateAt(position: number): void {
    this.file.truncate(position)
    this.reindex()
  }

  /** Makes the indexes again from the file. */
  reindex(): void {
    this.maxTimestamp = -1
    this.offsetOfMaxTimestamp = -1
    this.#firstTimestamp = undefined
    this.#unindexedBytes = 0
    this.#offsets.clear()
    this.#times.clear()
    const { size } = this
    for (let position = 0; position < size; ) {
      this.#peek(position)
      const length = batchSize(peeked, 0)
      this.index(batchBaseOffset(peeked, 0), batchMaxTimestamp(peeked, 0), position, length)
      position += length
    }
  }

  #peek(position: number): void {
    this.file.readInto(position, peeked)
  }
}
