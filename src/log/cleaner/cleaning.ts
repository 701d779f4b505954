/**
 * One cleaning of one log, from beginning to end (Kafka's `Cleaner`): first it learns the last offset of every key in the dirty
 * part, then it writes the segments up to there anew without what those keys have outdated. A generator, so that it can pause after
 * every few records: nobody waits for it.
 */

import { type CleaningNeed, groupSegments } from '../../core/compaction.ts'
import type { StorageFailure } from '../../storage/storage.ts'
import type { Later } from '../../util/later.ts'
import { batchFilter, cleanSegments, type Pass, totalSize } from './clean-segments.ts'
import type { CleanableLog } from './cleanable-log.ts'
import { CleanedTransactions } from './cleaned-transactions.ts'
import type { Work } from './cost.ts'
import { learnKeys } from './learn-keys.ts'
import { OffsetMap } from './offset-map.ts'

/** What was done since the last pause; or something must settle first. */
type Pause = Work | Later<StorageFailure | undefined>

/** What can pause. */
export type Steps<T> = Generator<Pause, T, void>

export interface CleaningOptions {
  now: number
  /** See `OffsetMapOptions`. */
  maxMapBytes: number
  mapLoadFactor: number
}

export interface CleaningResult {
  /** Up to where the log is clean now. */
  endOffset: number
  bytesBefore: number
  bytesAfter: number
}

/**
 * Cleans a log as `need` says. Whoever gives up calls `return()`: what was half written goes, what was put in place stays.
 *
 * @throws {CleaningAborted} when the log was cut, closed or changed otherwise meanwhile
 * @throws {StorageError} when the storage fails
 * @throws {RecordsError} when what is stored is broken
 */
export function* clean(log: CleanableLog, need: CleaningNeed, options: CleaningOptions): Steps<CleaningResult> {
  const { firstDirtyOffset, firstUncleanableOffset } = need
  const { segments } = log
  const map = new OffsetMap({
    secret: [secretWord(log), secretWord(log), secretWord(log), secretWord(log)],
    keys: firstUncleanableOffset - firstDirtyOffset,
    maxBytes: options.maxMapBytes,
    loadFactor: options.mapLoadFactor,
  })
  const latestOffset = yield* learnKeys(log, firstDirtyOffset, firstUncleanableOffset, map)
  const wanted = segments.all().slice(0, segments.floor(latestOffset) + 1)
  const groupsEnd = segments.at(wanted.length).baseOffset
  const aborted = log.abortedBetween(segments.first.baseOffset, groupsEnd)
  const pass: Pass = {
    log,
    map,
    latestOffset,
    roundEnd: firstUncleanableOffset,
    transactions: new CleanedTransactions(aborted),
    now: options.now,
  }
  const filter = batchFilter(pass)
  const result: CleaningResult = { endOffset: latestOffset + 1, bytesBefore: 0, bytesAfter: 0 }
  for (const group of groupSegments(wanted, log.config.segmentBytes, groupsEnd)) {
    result.bytesBefore += totalSize(group)
    result.bytesAfter += yield* cleanSegments(pass, filter, group)
  }
  return result
}

function secretWord({ env }: CleanableLog): number {
  return Math.floor(env.random() * 0x100000000)
}
