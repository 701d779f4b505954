/**
 * Which segments a log may drop: whole ones, from the oldest on, never one that reaches the high watermark (KIP-186 and
 * before; the `deleteOldSegments` of Kafka's `UnifiedLog`). Offsets are never used again.
 */

import type { LogConfig } from './log-config.ts'
import type { Segments } from './segments.ts'

/** Where the log stands. */
export interface RetentionBounds {
  logStartOffset: number
  logEndOffset: number
  highWatermark: number
}

/**
 * How many segments from the oldest on are to go now: those below the log start offset in any case; with cleanup policy
 * `delete` also those beyond `retention.bytes` and those whose newest record is older than `retention.ms`.
 */
export function segmentsToDelete(segments: Segments, config: LogConfig, bounds: RetentionBounds, now: number): number {
  const { count } = segments
  let deleted = 0
  let excess = config.delete && config.retentionBytes >= 0 ? segments.sizeInBytes - config.retentionBytes : -1
  for (; deleted < count; deleted++) {
    const segment = segments.at(deleted)
    const isLast = deleted === count - 1
    const endOffset = isLast ? bounds.logEndOffset : segments.at(deleted + 1).baseOffset
    if (isLast && segment.size === 0) break
    if (bounds.highWatermark < endOffset) break
    const isBelowStart = !isLast && endOffset <= bounds.logStartOffset
    const isExcess = excess - segment.size >= 0
    const isOld = config.delete && config.retentionMs >= 0 && now - segment.largestTimestamp > config.retentionMs
    if (!isBelowStart && !isExcess && !isOld) break
    excess -= segment.size
  }
  return deleted
}
