/**
 * The first passage of a cleaning: through the dirty part of the log, to learn the last offset of each key in it. Data of aborted
 * transactions does not count (Kafka's `Cleaner.buildOffsetMap`).
 */

import { batchLastOffset, readBatchHeader } from '../../records/batch-header.ts'
import { recordCursor } from '../../records/batch-reader.ts'
import type { RecordCursor } from '../../records/record-cursor.ts'
import { StorageError } from '../../storage/storage.ts'
import { BatchScanner } from '../batch-scanner.ts'
import { markerOf } from '../log-state.ts'
import { type CleanableLog, CleaningAborted } from './cleanable-log.ts'
import { CleanedTransactions } from './cleaned-transactions.ts'
import type { Steps } from './cleaning.ts'
import { bytesCost, decompressCost, RECORDS_PER_STEP } from './cost.ts'
import type { OffsetMap } from './offset-map.ts'

/**
 * Puts the keys in `[from, upTo)` into the map, until it is full. Returns the offset up to which, and with it, they are known: the
 * last offset of a batch, or of all.
 */
export function* learnKeys(log: CleanableLog, from: number, upTo: number, map: OffsetMap): Steps<number> {
  const { segments } = log
  const { changes } = segments
  const transactions = new CleanedTransactions(log.abortedBetween(from, upTo))
  let latestOffset = -1
  for (let index = segments.floor(from); segments.at(index).baseOffset < upTo; index++) {
    const segment = segments.at(index)
    const scanner = new BatchScanner(segment.file, segment.positionOf(from))
    while (scanner.next()) {
      const isWhole = yield* learnBatch(log, scanner, from, map, transactions)
      if (segments.changes !== changes) throw new CleaningAborted(log.topicPartition)
      if (!isWhole) {
        if (latestOffset >= from) return latestOffset
        throw new StorageError('OVER_LIMIT', 'one batch has more keys than log.cleaner.dedupe.buffer.size has room for')
      }
      latestOffset = Math.max(latestOffset, batchLastOffset(scanner.window, scanner.at))
    }
    // Offsets that are missing at the end of a segment are known to be missing.
    latestOffset = segments.at(index + 1).baseOffset - 1
  }
  return latestOffset
}

/** False when the map was full before all keys of the batch were in it. */
function* learnBatch(
  log: CleanableLog,
  { window, at, size }: BatchScanner,
  from: number,
  map: OffsetMap,
  transactions: CleanedTransactions,
): Steps<boolean> {
  const batch = readBatchHeader(window, at)
  if (batch.isControl) transactions.onControl(batch, markerOf(window, at, batch, log.platform))
  else if (!transactions.onData(batch)) {
    const cursor = recordCursor(window, at, log.platform)
    if (batch.codec !== 0) yield { bytes: 0, cost: decompressCost(cursor) }
    for (let left = batch.recordsCount; left > 0; left -= RECORDS_PER_STEP) {
      if (!learnSome(cursor, batch.baseOffset, from, map)) return false
      yield { bytes: 0, cost: Math.min(left, RECORDS_PER_STEP) }
    }
  }
  yield { bytes: size, cost: bytesCost(size) }
  return true
}

/** Goes on to as many records as may be without a pause, or to the last. False when the map was full before their keys were in it. */
function learnSome(cursor: RecordCursor, baseOffset: number, from: number, map: OffsetMap): boolean {
  for (let left = RECORDS_PER_STEP; left > 0 && cursor.next(); left--) {
    const offset = baseOffset + cursor.offsetDelta
    if (cursor.keyLength < 0 || offset < from) continue
    if (map.isFull) return false
    map.put(cursor.bytes, cursor.keyStart, cursor.keyStart + cursor.keyLength, offset)
  }
  return true
}
