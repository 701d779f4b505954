/**
 * The rules of replication, without state: how far everybody has a log, who has kept up, where a log that went another way has to
 * be cut (Kafka's `Partition`, `Replica`, `AbstractFetcherThread`; KIP-101, KIP-320).
 */

/** How far a follower is, as its leader knows it from the follower's fetches. Times in milliseconds, offsets −1 while unknown. */
export interface FollowerProgress {
  readonly logStartOffset: number
  readonly logEndOffset: number
  /** The end of the leader's log when the follower last fetched, and when that was. */
  readonly leaderEndOffset: number
  readonly lastFetchTime: number
  /** The last time at which the follower had everything that the leader had then. */
  readonly lastCaughtUpTime: number
}

export const NO_PROGRESS: FollowerProgress = {
  logStartOffset: -1,
  logEndOffset: -1,
  leaderEndOffset: -1,
  lastFetchTime: 0,
  lastCaughtUpTime: 0,
}

/** What a fetch tells of its follower: it has everything below the offset it asks for. */
export function afterFetch(
  before: FollowerProgress,
  fetch: { fetchOffset: number; logStartOffset: number; leaderEndOffset: number; now: number },
): FollowerProgress {
  const { fetchOffset, logStartOffset, leaderEndOffset, now } = fetch
  let lastCaughtUpTime = before.lastCaughtUpTime
  if (fetchOffset >= leaderEndOffset) lastCaughtUpTime = Math.max(lastCaughtUpTime, now)
  // It has all that there was at its last fetch, so it was there then; without this a busy leader would have no follower.
  else if (fetchOffset >= before.leaderEndOffset) lastCaughtUpTime = Math.max(lastCaughtUpTime, before.lastFetchTime)
  return {
    logStartOffset,
    logEndOffset: fetchOffset,
    leaderEndOffset: Math.max(leaderEndOffset, before.leaderEndOffset),
    lastFetchTime: now,
    lastCaughtUpTime,
  }
}

/** Whether a follower keeps up: it has everything, or had it not longer ago than `lagTimeMaxMs`. */
export function isCaughtUp(
  { logEndOffset, lastCaughtUpTime }: FollowerProgress,
  leader: { logEndOffset: number; now: number; lagTimeMaxMs: number },
): boolean {
  return logEndOffset === leader.logEndOffset || leader.now - lastCaughtUpTime <= leader.lagTimeMaxMs
}

/** Where a leader epoch ended in a log. */
export interface EpochEnd {
  readonly leaderEpoch: number
  readonly endOffset: number
}

/**
 * Where a follower cuts its log when the leader says that `diverging` is the last epoch that both may have, and where that ended
 * there. When the follower never had that epoch, its own end of the one before is where it looks next.
 *
 * @param own where the follower's log ended in an epoch, or in the last one before it that it knows
 */
export function truncationOffset(
  diverging: EpochEnd,
  log: { logEndOffset: number; endOffsetForEpoch: (epoch: number) => EpochEnd },
): number {
  if (diverging.endOffset < 0) return log.logEndOffset
  if (diverging.leaderEpoch < 0) return Math.min(diverging.endOffset, log.logEndOffset)
  const own = log.endOffsetForEpoch(diverging.leaderEpoch)
  if (own.endOffset < 0) return Math.min(diverging.endOffset, log.logEndOffset)
  const agreed = own.leaderEpoch === diverging.leaderEpoch ? diverging.endOffset : own.endOffset
  return Math.min(agreed, own.endOffset, log.logEndOffset)
}
