/**
 * How a follower's log comes to be a prefix of its leader's again: cut where the two went different ways (KIP-320, KIP-595), or brought into
 * the range of offsets that the leader has. Who says where that is, and when it is asked, is the fetcher's business.
 */

import { truncationOffset } from '../../core/replication.ts'
import type { Log } from '../../log/log.ts'
import type { StorageFailure } from '../../storage/storage.ts'
import type { Later } from '../../util/later.ts'

/** It has to be written down first that nothing behind the cut can be trusted; settles once it may be tried again. */
export type NotYet = Later<StorageFailure | undefined>

/** Cuts a log where it left the leader's. False when that changed nothing. */
export function cutWhereDiverging(
  log: Log,
  { epoch, endOffset }: { epoch: number; endOffset: number },
): boolean | NotYet {
  const { logEndOffset, latestEpoch } = log
  const offset = truncationOffset(
    { leaderEpoch: epoch, endOffset },
    { logEndOffset, endOffsetForEpoch: own => log.endOffsetForEpoch(own) },
  )
  const noted = offset < logEndOffset ? log.noteCut(offset) : undefined
  if (noted !== undefined) return noted
  log.truncateTo(offset)
  return log.logEndOffset !== logEndOffset || log.latestEpoch !== latestEpoch
}

/** The log ends outside of the leader's: it is cut to the leader's end, or begins anew at its start. */
export function bringIntoRange(log: Log, leader: { logStartOffset: number; logEndOffset: number }): NotYet | undefined {
  if (leader.logEndOffset < log.logEndOffset) {
    const noted = log.noteCut(leader.logEndOffset)
    if (noted !== undefined) return noted
    log.truncateTo(leader.logEndOffset)
  } else if (leader.logStartOffset > log.logEndOffset) log.truncateFullyAndStartAt(leader.logStartOffset)
  return undefined
}
