/**
 * The rules of compaction, without state and without bytes: which part of a log may be cleaned, which log is in the greatest
 * need of it, which segments are written together, and what of a batch is kept (KIP-58, KIP-354, KIP-534; Kafka's
 * `LogCleanerManager`, `LogToClean` and `Cleaner`). Who reads and writes is `log/cleaner/`.
 */

/** A segment as these rules see it; times are in milliseconds, −1 where there is none. */
export interface SegmentFacts {
  readonly baseOffset: number
  readonly size: number
  /** The time of its newest record, or of its last write when records have none. */
  readonly largestTimestamp: number
  /** From when on its age counts: the maximum timestamp of its first batch, or −1. */
  readonly firstTimestamp: number
}

/** What a log says of itself. The last segment is the active one. */
export interface LogFacts {
  readonly segments: readonly SegmentFacts[]
  readonly logStartOffset: number
  readonly logEndOffset: number
  readonly lastStableOffset: number
  /** Up to where it was cleaned before, or undefined. */
  readonly cleanedUpTo: number | undefined
}

export interface CompactionConfig {
  /** `min.compaction.lag.ms`: records younger than that are left alone. */
  readonly minCompactionLagMs: number
  /** `max.compaction.lag.ms`: a log with a dirty record older than that is cleaned whatever its ratio is. */
  readonly maxCompactionLagMs: number
  /** `min.cleanable.dirty.ratio`. */
  readonly minCleanableRatio: number
}

/** What there is to do in a log. */
export interface CleaningNeed {
  /** What lies below was cleaned before. */
  readonly firstDirtyOffset: number
  /** The base offset of the first segment that must be left alone. */
  readonly firstUncleanableOffset: number
  /** Dirty bytes that may be cleaned, as a part of all bytes up to there: 0 to 1. */
  readonly dirtyRatio: number
  readonly dirtyBytes: number
  /** The dirty ratio or the age of a record asks for it. */
  readonly isDue: boolean
}

/**
 * Where the dirty part begins: where the last cleaning ended, unless that lies outside of the log (records were deleted, or the
 * end was lost): then all of the log counts as dirty.
 */
export function firstDirtyOffset(log: LogFacts): number {
  const { cleanedUpTo, logStartOffset, logEndOffset } = log
  if (cleanedUpTo === undefined || cleanedUpTo < logStartOffset || cleanedUpTo > logEndOffset) return logStartOffset
  return cleanedUpTo
}

/**
 * What there is to clean in a log: whole segments from the first dirty offset on, never the active one, nothing at or behind the
 * last stable offset, no segment with a record younger than the minimum lag.
 */
export function cleaningNeed(log: LogFacts, config: CompactionConfig, now: number): CleaningNeed {
  const { segments } = log
  const dirtyFrom = firstDirtyOffset(log)
  const first = floorSegment(segments, dirtyFrom)
  let end = floorSegment(segments, Math.max(dirtyFrom, log.lastStableOffset))
  end = Math.min(end, segments.length - 1)
  if (config.minCompactionLagMs > 0) {
    for (let index = first; index < end; index++) {
      if (segments[index].largestTimestamp > now - config.minCompactionLagMs) end = index
    }
  }
  let cleanBytes = 0
  // A segment that was cleaned in part counts on both sides, as it does in Kafka.
  for (const { baseOffset, size } of segments) if (baseOffset < dirtyFrom) cleanBytes += size
  let dirtyBytes = 0
  for (let index = first; index < end; index++) dirtyBytes += segments[index].size
  const total = cleanBytes + dirtyBytes
  const dirtyRatio = total === 0 ? 0 : dirtyBytes / total
  const isOld = isOverdue(segments.slice(first, segments.length - 1), config.maxCompactionLagMs, now)
  return {
    firstDirtyOffset: dirtyFrom,
    firstUncleanableOffset: segments[end].baseOffset,
    dirtyRatio,
    dirtyBytes,
    isDue: dirtyBytes > 0 && (isOld || dirtyRatio > config.minCleanableRatio),
  }
}

/** Whether one of these segments begins with records older than the lag. */
function isOverdue(segments: readonly SegmentFacts[], maxLagMs: number, now: number): boolean {
  // Without a limit nobody need look into the segments.
  if (now <= maxLagMs) return false
  return segments.some(({ firstTimestamp }) => firstTimestamp > 0 && firstTimestamp < now - maxLagMs)
}

/** The index of the segment in which `offset` lies or would lie; 0 for offsets before all. */
function floorSegment(segments: readonly SegmentFacts[], offset: number): number {
  let index = segments.length - 1
  while (index > 0 && segments[index].baseOffset > offset) index--
  return index
}

/** The one that is to be cleaned next: that with the highest dirty ratio among those that are due. */
export function filthiest<T extends { readonly need: CleaningNeed }>(logs: Iterable<T>): T | undefined {
  let chosen: T | undefined
  for (const log of logs) {
    if (log.need.isDue && (chosen === undefined || log.need.dirtyRatio > chosen.need.dirtyRatio)) chosen = log
  }
  return chosen
}

/** Offsets in a segment are stored as 32-bit distances from its base. */
/** How far behind the base offset of its segment an offset may lie: an index has four bytes for it. */
export const LARGEST_OFFSET_DELTA = 0x7fffffff

/**
 * Which neighbouring segments become one: as many as fit into a segment by their sizes before cleaning and by their offsets.
 *
 * @param upTo the first offset that is not cleaned
 */
export function groupSegments<T extends Pick<SegmentFacts, 'baseOffset' | 'size'>>(
  segments: readonly T[],
  maxBytes: number,
  upTo: number,
): T[][] {
  const groups: T[][] = []
  let size = 0
  for (const [index, segment] of segments.entries()) {
    const group = groups.at(-1)
    const lastOffset = (segments[index + 1]?.baseOffset ?? upTo) - 1
    const fits = group !== undefined && size + segment.size <= maxBytes
    if (fits && (segment.size === 0 || lastOffset - group[0].baseOffset <= LARGEST_OFFSET_DELTA)) {
      group.push(segment)
      size += segment.size
    } else {
      groups.push([segment])
      size = segment.size
    }
  }
  return groups
}

/** A batch as these rules see it. */
export interface BatchFacts {
  readonly producerId: number
  readonly producerEpoch: number
  readonly lastOffset: number
  readonly isControl: boolean
  /** The base timestamp of a batch that has a delete horizon. */
  readonly deleteHorizonMs: number | undefined
}

/** The last that is known of a producer: its last batch of data, or undefined when only a marker is left of it. */
export interface LastOfProducer {
  readonly producerEpoch: number
  readonly lastDataOffset: number | undefined
}

/** `keep` looks at the records; the others drop them all. */
export interface BatchFate {
  readonly records: 'keep' | 'drop'
  /** Whether the header stays when no record does. */
  readonly keepsEmpty: boolean
}

/**
 * What becomes of a batch.
 *
 * @param isObsolete it holds data of an aborted transaction, or is the marker of a transaction without data
 * @param upTo where this round of cleaning ends: its last batch stays, so that the log does not seem to end earlier
 */
export function batchFate(
  batch: BatchFacts,
  isObsolete: boolean,
  last: LastOfProducer | undefined,
  upTo: number,
  now: number,
): BatchFate {
  const { deleteHorizonMs: horizon } = batch
  // A marker waits, so that readers that are in the middle of its transaction meet it.
  const drops = isObsolete && (!batch.isControl || (horizon !== undefined && horizon <= now))
  return {
    records: drops ? 'drop' : 'keep',
    keepsEmpty: isLastOfProducer(batch, last) || batch.lastOffset + 1 === upTo,
  }
}

/** The batch that says how a producer that may write again has to go on. */
function isLastOfProducer(batch: BatchFacts, last: LastOfProducer | undefined): boolean {
  if (batch.producerId < 0 || last === undefined) return false
  if (last.lastDataOffset !== undefined) return batch.lastOffset === last.lastDataOffset
  return batch.isControl && batch.producerEpoch === last.producerEpoch
}

/**
 * Whether a record of data stays.
 *
 * @param latestOffset that of the last record with its key in the dirty part; −1 when there is none
 * @param isTombstone its value is null: it goes once the delete horizon of its batch has passed
 */
export function keepsRecord(
  record: { readonly offset: number; readonly isTombstone: boolean },
  latestOffset: number,
  deleteHorizonMs: number | undefined,
  now: number,
): boolean {
  if (record.offset < latestOffset) return false
  return !record.isTombstone || deleteHorizonMs === undefined || now < deleteHorizonMs
}
