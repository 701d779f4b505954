/**
 * Reads whole batches from the segments (Kafka's `LocalLog.read`, `LogSegment.read`). Kafka may cut the last batch of an
 * answer off; here none is, except that nobody is sent less than one batch when they ask not to be.
 */

import type { AbortedTransaction, AbortedTransactions } from './aborted-transactions.ts'
import type { Segments } from './segments.ts'

/** How far a reader may see: followers to the log end, consumers to the high watermark or the last stable offset. */
export type Isolation = 'log_end' | 'high_watermark' | 'last_stable'

export interface ReadOptions {
  /** The answer is not larger, but for {@link minOneBatch}. */
  maxBytes: number
  /** The first batch comes whatever its size (KIP-74). */
  minOneBatch: boolean
  isolation: Isolation
}

export interface ReadResult {
  /** Whole batches, from the one that contains the offset on. Views that stay valid and unchanged. */
  parts: Uint8Array[]
  sizeInBytes: number
  /** The base offset of the first batch, which may lie before the offset asked for. */
  firstBatchOffset?: number
  /** Those with data in what was read, for isolation `last_stable`; empty for all others. */
  abortedTransactions: AbortedTransaction[]
}

function nothing(): ReadResult {
  return { parts: [], sizeInBytes: 0, abortedTransactions: [] }
}

/** Where a reader of offset `boundOffset` must stop, which lies on the edge of a batch. */
interface Bound {
  boundOffset: number
  logEndOffset: number
}

/** Reads from `offset` on, which lies in the log. One segment at most per read. */
export function readBatches(
  segments: Segments,
  aborted: AbortedTransactions,
  offset: number,
  bound: Bound,
  options: ReadOptions,
): ReadResult {
  if (offset >= bound.boundOffset) return nothing()
  for (let index = segments.floor(offset); index < segments.count; index++) {
    const segment = segments.at(index)
    const limit = boundIn(segments, index, bound)
    const start = segment.positionOf(offset)
    // A segment may end before the next begins: compaction leaves such holes.
    if (start >= limit) continue
    let end = limit
    if (limit - start > options.maxBytes) {
      end = segment.endWithin(start, start + Math.max(0, options.maxBytes))
      if (end === start) {
        if (!options.minOneBatch) return nothing()
        end = start + segment.sizeAt(start)
      }
    }
    const firstBatchOffset = segment.baseOffsetAt(start)
    const result: ReadResult = {
      parts: segment.file.read(start, end - start),
      sizeInBytes: end - start,
      firstBatchOffset,
      abortedTransactions: [],
    }
    if (options.isolation === 'last_stable' && aborted.entries.length > 0) {
      const upTo = end < segment.size ? segment.baseOffsetAt(end) : endOffset(segments, index, bound)
      result.abortedTransactions = aborted.collect(offset, upTo)
    }
    return result
  }
  return nothing()
}

/** How many bytes lie between `offset` and the bound; counting ends at `max`. */
export function availableBytes(segments: Segments, offset: number, bound: Bound, max: number): number {
  if (offset >= bound.boundOffset) return 0
  let bytes = 0
  for (let index = segments.floor(offset); index < segments.count && bytes < max; index++) {
    if (segments.at(index).baseOffset >= bound.boundOffset) break
    bytes += Math.max(0, boundIn(segments, index, bound) - segments.at(index).positionOf(offset))
  }
  return Math.min(bytes, max)
}

/** The position in the segment at `index` where the reader must stop. */
function boundIn(segments: Segments, index: number, bound: Bound): number {
  const segment = segments.at(index)
  return bound.boundOffset >= endOffset(segments, index, bound) ? segment.size : segment.positionOf(bound.boundOffset)
}

function endOffset(segments: Segments, index: number, bound: Bound): number {
  return index + 1 < segments.count ? segments.at(index + 1).baseOffset : bound.logEndOffset
}
