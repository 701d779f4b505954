/**
 * The second passage of a cleaning, for one group of neighbouring segments: all that is to stay of them is written into one, which
 * then takes their place (Kafka's `Cleaner.cleanSegments`).
 */

import { batchFate, keepsRecord, type LastOfProducer } from '../../core/compaction.ts'
import { type BatchHeader, readBatchHeader } from '../../records/batch-header.ts'
import type { RecordCursor } from '../../records/record-cursor.ts'
import { BatchScanner } from '../batch-scanner.ts'
import { markerOf } from '../log-state.ts'
import type { Segment } from '../segment.ts'
import { type CleanableLog, CleaningAborted } from './cleanable-log.ts'
import { CleanedSegment } from './cleaned-segment.ts'
import type { CleanedTransactions } from './cleaned-transactions.ts'
import type { Steps } from './cleaning.ts'
import { bytesCost } from './cost.ts'
import { BatchFilter } from './filter-batch.ts'
import type { OffsetMap } from './offset-map.ts'

/** What the groups of one cleaning have in common. */
export interface Pass {
  readonly log: CleanableLog
  readonly map: OffsetMap
  /** Up to where, and with what, the map knows the keys. */
  readonly latestOffset: number
  /** Where the part ends that may be cleaned. */
  readonly roundEnd: number
  readonly transactions: CleanedTransactions
  /** When the cleaning began, in milliseconds. */
  readonly now: number
}

/** Cleans a group. Returns how many bytes are left of it. */
export function* cleanSegments(pass: Pass, filter: BatchFilter, group: readonly Segment[]): Steps<number> {
  const { log, transactions } = pass
  const { segments } = log
  const { changes } = segments
  const cleaned = new CleanedSegment(log, group[0].baseOffset, totalSize(group))
  const lasts = lastsOfProducers(log)
  try {
    transactions.onAborted = entry => cleaned.noteAborted(entry)
    let isChanged = group.length > 1
    for (const segment of group) {
      const scanner = new BatchScanner(segment.file, 0)
      while (scanner.next()) {
        const bytes = scanner.window.subarray(scanner.at, scanner.at + scanner.size)
        const kept = yield* keptOf(bytes, pass, lasts, filter)
        if (segments.changes !== changes) throw new CleaningAborted(log.topicPartition)
        if (kept !== bytes) isChanged = true
        if (kept !== undefined) cleaned.write(kept)
        const bytesMoved = scanner.size + (kept?.length ?? 0)
        yield { bytes: bytesMoved, cost: bytesCost(bytesMoved) }
        if (segments.changes !== changes) throw new CleaningAborted(log.topicPartition)
      }
    }
    // Written anew it would be the same.
    if (!isChanged) return group[0].size
    yield* cleaned.takePlaceOf(group)
    return cleaned.size
  } finally {
    cleaned.discard()
  }
}

/** The bytes that stay of a batch, which are those given when all of it stays. */
function* keptOf(
  bytes: Uint8Array,
  pass: Pass,
  lasts: ReadonlyMap<number, LastOfProducer>,
  filter: BatchFilter,
): Steps<Uint8Array | undefined> {
  const { log, transactions } = pass
  const batch = readBatchHeader(bytes, 0)
  const isObsolete = batch.isControl
    ? transactions.onControl(batch, markerOf(bytes, 0, batch, log.platform))
    : transactions.onData(batch)
  const fate = batchFate(
    { ...batch, deleteHorizonMs: horizonOf(batch) },
    isObsolete,
    lasts.get(batch.producerId),
    pass.roundEnd,
    pass.now,
  )
  return yield* filter.filter(bytes, batch, fate, isObsolete && batch.isControl)
}

/** What looks at the records of all groups of a cleaning. */
export function batchFilter({ log, map, latestOffset, now }: Pass): BatchFilter {
  return new BatchFilter({
    platform: log.platform,
    newHorizonMs: now + log.config.deleteRetentionMs,
    keeps(cursor: RecordCursor, batch: BatchHeader): boolean {
      const offset = batch.baseOffset + cursor.offsetDelta
      if (offset > latestOffset) return true
      // The policy may have changed since it was written: then nobody can say what it updates.
      if (cursor.keyLength < 0) return false
      const latest = map.get(cursor.bytes, cursor.keyStart, cursor.keyStart + cursor.keyLength)
      return keepsRecord({ offset, isTombstone: cursor.valueLength < 0 }, latest, horizonOf(batch), now)
    },
  })
}

/** Bytes in all of them. */
export function totalSize(group: readonly Segment[]): number {
  let size = 0
  for (const segment of group) size += segment.size
  return size
}

function horizonOf(batch: BatchHeader): number | undefined {
  return batch.hasDeleteHorizon ? batch.baseTimestamp : undefined
}

function lastsOfProducers(log: CleanableLog): Map<number, LastOfProducer> {
  return new Map(
    log
      .producers()
      .map(({ producerId, producerEpoch, batches }) => [
        producerId,
        { producerEpoch, lastDataOffset: batches.at(-1)?.lastOffset },
      ]),
  )
}
