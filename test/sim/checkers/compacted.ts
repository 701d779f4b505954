/**
 * What a log holds of which older records of a key may go: each record is one that was there, at the offset where it was, and the last of each
 * key is there, but for tombstones, which go in the end. Shared by the checkers of one broker and of several.
 */

import type { ObservedBatch, ObservedLog } from '../observed-log.ts'

export interface CompactedRange {
  /** Where the log begins. */
  readonly from: number
  /** What lies from here on is not known yet, and may take the place of what lies before. */
  readonly to: number
  /** Records were lost, as they may be: they may have taken the place of others before, and may have come back. */
  readonly hasLost?: boolean
  /** Tombstones stay for as long as a simulation lasts: what they deleted may not come back without them. */
  readonly keepsTombstones?: boolean
}

/** What is wrong, in words; undefined when nothing is. */
export function compactionFault(
  observed: ObservedLog,
  found: readonly ObservedBatch[],
  { from, to, hasLost = false, keepsTombstones = false }: CompactedRange,
): string | undefined {
  const there = new Set<number>()
  const newer = new Set<string | null>()
  for (const { id, key, offset } of found.flatMap(({ records }) => records)) {
    if (offset >= to) newer.add(key)
    else {
      there.add(offset)
      const before = observed.recordAt(offset)?.id
      if (before !== id && !(hasLost && before === undefined)) return `${id} at ${offset}, where ${before} was`
    }
  }
  if (hasLost) return undefined
  for (const { key, offset, isTombstone } of observed.last(from, to)) {
    if (there.has(offset) || newer.has(key) || (isTombstone && !keepsTombstones)) continue
    return `the last record of ${key}, at ${offset}, is missing`
  }
  return undefined
}
