/**
 * The bytes of a log: its segments, and where they end (Kafka's `LocalLog`). What the batches mean, who wrote them, how far they
 * are replicated and how they come to the disk is known one level up.
 */

import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { IndexCache } from './index-cache.ts'
import type { PreparedAppend } from './leader-append.ts'
import type { LogConfig } from './log-config.ts'
import type { Segment } from './segment.ts'
import { Segments } from './segments.ts'

export class LocalLog {
  readonly segments: Segments
  #config: LogConfig
  #endOffset = 0

  constructor(options: {
    storage: Storage
    directory: string
    env: Env
    config: LogConfig
    exempt?: boolean
    indexCache?: IndexCache
  }) {
    this.#config = options.config
    this.segments = new Segments(options)
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

  /** Says where the segments that were found end; makes one when there is none. */
  loaded(endOffset: number): void {
    this.#endOffset = endOffset
    if (this.segments.count === 0) this.segments.add(endOffset, this.#config, true)
  }

  /** Whether the active segment has to be rolled before these batches. */
  isFullFor(prepared: PreparedAppend, now: number): boolean {
    const { segmentBytes, segmentMs } = this.#config
    const sum = { size: prepared.records.length, lastOffset: prepared.lastOffset, maxTimestamp: prepared.maxTimestamp }
    return this.segments.active.isFullFor(sum, { segmentBytes, segmentMs, now })
  }

  /** Appends batches in one piece; all or nothing. */
  append(prepared: PreparedAppend, now: number): void {
    const { records, batches, lastOffset, immutable } = prepared
    const { active } = this.segments
    let position = active.size
    active.append(records, now, immutable)
    for (const { header } of batches) {
      active.index(header.lastOffset, header.maxTimestamp, position, header.sizeInBytes)
      position += header.sizeInBytes
    }
    this.#endOffset = lastOffset + 1
  }

  /** Ends the active segment, unless it is empty, and begins another. Returns the one that was ended. */
  roll(baseOffset: number): Segment | undefined {
    const { active } = this.segments
    if (active.size === 0 && active.baseOffset === baseOffset) return undefined
    this.segments.add(baseOffset, this.#config, true)
    return active
  }

  /** Drops the oldest segments, of which at least one stays. */
  deleteOldest(count: number): void {
    this.segments.remove(0, count, this.#config.fileDeleteDelayMs)
  }

  /** Drops the batches that end at or behind `offset`, which is not below the first segment. */
  truncateTo(offset: number): void {
    const { segments } = this
    const { index, position, endOffset } = this.#cutAt(offset)
    segments.remove(index + 1, segments.count - index - 1, this.#config.fileDeleteDelayMs)
    segments.active.truncateAt(position, offset)
    this.#endOffset = endOffset
    segments.wereCut(endOffset)
  }

  /** Where the log will end once it is cut at `offset`: no later. */
  endWhenCutAt(offset: number): number {
    return offset < this.segments.first.baseOffset ? offset : this.#cutAt(offset).endOffset
  }

  #cutAt(offset: number): { index: number; position: number; endOffset: number } {
    const index = this.segments.floor(offset)
    const segment = this.segments.at(index)
    const position = segment.positionOf(offset)
    // Where a batch reaches across, the log ends before that batch, so that it can be fetched again whole.
    const endOffset = position < segment.size ? Math.min(offset, segment.baseOffsetAt(position)) : offset
    return { index, position, endOffset }
  }

  /** Drops everything and begins anew at `offset`. Where there is no room for a new segment, nothing has changed. */
  startOver(offset: number): void {
    const { segments } = this
    const { fileDeleteDelayMs } = this.#config
    const present = segments.baseOffsets().indexOf(offset)
    if (present < 0) {
      const { count } = segments
      segments.add(offset, this.#config, true)
      segments.remove(0, count, fileDeleteDelayMs)
    } else {
      segments.remove(present + 1, segments.count - present - 1, fileDeleteDelayMs)
      segments.remove(0, present, fileDeleteDelayMs)
      segments.first.truncateAt(0, offset)
    }
    this.#endOffset = offset
    segments.wereCut(offset)
  }
}
