/**
 * Reads whole batches from the segments (Kafka's `LocalLog.read`, `LogSegment.read`). Kafka may cut the last batch of an
 * answer off; here none is, except that nobody is sent less than one batch when they ask not to be.
 */

import { checkBatch, eachBatch } from '../records/batch-header.ts'
import type { Crc32c } from '../records/crc32c.ts'
import { RecordsError } from '../records/records-error.ts'
import { concat } from '../util/byte-writer.ts'
import type { Segments } from './segments.ts'
import type { AbortedTransaction } from './transaction-index.ts'

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
  /** Whole batches, from the one that contains the offset on, which may begin before it. Views that stay valid and unchanged. */
  parts: Uint8Array[]
  sizeInBytes: number
  /** How many bytes there are for the reader, in later segments too; counting ends at its `maxBytes`. Not of a read that gives nothing. */
  availableBytes: number
  /** Those with data in what was read, for isolation `last_stable`; empty for all others. */
  abortedTransactions: AbortedTransaction[]
}

function nothing(): ReadResult {
  return { parts: [], sizeInBytes: 0, availableBytes: 0, abortedTransactions: [] }
}

/** Where a reader of offset `boundOffset` must stop, which lies on the edge of a batch. */
interface Bound {
  boundOffset: number
  logEndOffset: number
}

/**
 * Reads from `offset` on, which lies in the log. One segment at most per read.
 *
 * @param crc32c checks what was read: batches from the first on that is corrupt are not served
 * @throws {RecordsError} CORRUPT_MESSAGE when that is the first of all
 */
export function readBatches(
  segments: Segments,
  offset: number,
  bound: Bound,
  options: ReadOptions,
  crc32c?: Crc32c,
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
    let parts = segment.file.read(start, end - start)
    if (crc32c !== undefined) {
      parts = [sound(parts, segment.file.path, start, crc32c)]
      end = start + parts[0].length
    }
    const result: ReadResult = {
      parts,
      sizeInBytes: end - start,
      availableBytes: availableFrom(segments, index, bound, limit - start, options.maxBytes),
      abortedTransactions: [],
    }
    if (options.isolation === 'last_stable') {
      const upTo = end < segment.size ? segment.baseOffsetAt(end) : endOffset(segments, index, bound)
      result.abortedTransactions = collectAborted(segments, index, offset, upTo)
    }
    return result
  }
  return nothing()
}

/** The batches before the first that is not as it was written. */
function sound(parts: Uint8Array[], path: string, start: number, crc32c: Crc32c): Uint8Array {
  const bytes = parts.length === 1 ? parts[0] : concat(parts)
  let end = 0
  try {
    eachBatch(bytes, (at, size) => {
      checkBatch(bytes, at, crc32c)
      end = at + size
    })
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error
    if (end === 0) throw new RecordsError('CORRUPT_MESSAGE', `${path} at position ${start}: ${error.message}`)
  }
  return end < bytes.length ? bytes.subarray(0, end) : bytes
}

/** The aborted transactions with data in `[fromOffset, upToOffset)`: their markers lie there or behind it. */
function collectAborted(segments: Segments, first: number, fromOffset: number, upToOffset: number) {
  const found: AbortedTransaction[] = []
  for (let index = first; index < segments.count; index++) {
    if (segments.at(index).aborted.collect(fromOffset, upToOffset, found)) break
  }
  return found.sort((a, b) => a.firstOffset - b.firstOffset)
}

/** How many bytes lie between `offset` and the bound; counting ends at `max`. */
export function availableBytes(segments: Segments, offset: number, bound: Bound, max: number): number {
  if (offset >= bound.boundOffset) return 0
  const index = segments.floor(offset)
  const bytes = Math.max(0, boundIn(segments, index, bound) - segments.at(index).positionOf(offset))
  return availableFrom(segments, index, bound, bytes, max)
}

/** The same, where `bytes` of them lie in the segment at `index`. */
function availableFrom(segments: Segments, index: number, bound: Bound, bytes: number, max: number): number {
  for (let next = index + 1; next < segments.count && bytes < max; next++) {
    if (segments.at(next).baseOffset >= bound.boundOffset) break
    bytes += boundIn(segments, next, bound)
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
