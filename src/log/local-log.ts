/**
 * The bytes of a log: its segments, where they end, and how they come to the disk (Kafka's `LocalLog`). What the
 * batches mean, who wrote them and how far they are replicated is known one level up, in `Log`.
 */

import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { Flushes } from './flushes.ts'
import type { PreparedAppend } from './leader-append.ts'
import type { LogConfig } from './log-config.ts'
import { Segments } from './segments.ts'

export class LocalLog {
  readonly segments: Segments
  readonly #storage: Storage
  readonly #directory: string
  readonly #flushes: Flushes
  #config: LogConfig
  #endOffset = 0

  constructor(options: {
    storage: Storage
    directory: string
    env: Env
    config: LogConfig
    recoveryPoint?: number
    exempt?: boolean
  }) {
    this.#storage = options.storage
    this.#directory = options.directory
    this.#config = options.config
    this.segments = new Segments(options.storage, options.directory, options.env, options.exempt)
    this.#flushes = new Flushes(options.env.turns, options.recoveryPoint)
  }

  get config(): LogConfig {
    return this.#config
  }

  updateConfig(config: LogConfig): void {
    this.#config = config
  }

  /** The offset that the next record gets. */
  get endOffset(): number {
    return this.#endOffset
  }

  /** Up to where {@link flush} has brought it. */
  get flushedOffset(): number {
    return this.#flushes.offset
  }

  /** Says where the segments that were found end; makes one when there is none. */
  recovered(endOffset: number): void {
    this.#endOffset = endOffset
    if (this.segments.count === 0) this.segments.add(endOffset, this.#config)
    this.#flushes.truncate(endOffset)
  }

  /** Appends batches in one piece, in a new segment when the active one is full; all or nothing. */
  append(prepared: PreparedAppend, now: number): void {
    const { records, batches, lastOffset, maxTimestamp } = prepared
    const { segmentBytes, segmentMs } = this.#config
    const sum = { size: records.length, lastOffset, maxTimestamp }
    if (this.segments.active.isFullFor(sum, { segmentBytes, segmentMs, now })) this.roll(batches[0].header.baseOffset)
    const { active } = this.segments
    let position = active.size
    active.append(records, now)
    for (const { header } of batches) {
      active.index(header.baseOffset, header.maxTimestamp, position, header.sizeInBytes)
      position += header.sizeInBytes
    }
    this.#endOffset = lastOffset + 1
  }

  /** Ends the active segment, unless it is empty, and begins another. */
  roll(baseOffset = this.#endOffset): void {
    const { active } = this.segments
    if (active.size === 0 && active.baseOffset === baseOffset) return
    this.segments.add(baseOffset, this.#config)
    this.#flushes.start(active.file)
  }

  /** Drops the oldest segments; there is always one left. */
  deleteOldest(count: number): void {
    if (count === this.segments.count) this.roll()
    this.segments.remove(0, count, this.#config.fileDeleteDelayMs)
  }

  /** Drops the batches that end at or behind `offset`, which is not below the first segment. */
  truncateTo(offset: number): void {
    const { segments } = this
    const index = segments.floor(offset)
    segments.remove(index + 1, segments.count - index - 1, this.#config.fileDeleteDelayMs)
    const { active } = segments
    const position = active.positionOf(offset)
    // Where a batch reached across, the log ends before that batch, so that it can be fetched again whole.
    this.#endOffset = position < active.size ? Math.min(offset, active.baseOffsetAt(position)) : offset
    active.truncateAt(position)
    this.#flushes.truncate(this.#endOffset)
  }

  /** Drops everything and begins anew at `offset`. */
  startOver(offset: number): void {
    this.segments.remove(0, this.segments.count, this.#config.fileDeleteDelayMs)
    this.segments.add(offset, this.#config)
    this.#endOffset = offset
    this.#flushes.truncate(offset)
  }

  /** Settles once everything appended so far would survive a power cut; after a failure it fails for ever. */
  flush(): Later<StorageFailure | undefined> {
    this.#flushes.start(this.segments.active.file)
    return this.#flushes.finish(this.#endOffset)
  }

  close(): Later<StorageFailure | undefined> {
    return this.segments.closeAfter(this.flush())
  }

  delete(): Later<StorageFailure | undefined> {
    this.segments.close()
    return this.#storage.remove(this.#directory)
  }
}
