import { describe, expect, it } from 'vitest'
import { afterFetch, type FollowerProgress, isCaughtUp, NO_PROGRESS, truncationOffset } from './replication.ts'

const fetch = (fetchOffset: number, leaderEndOffset: number, now: number) => ({
  fetchOffset,
  logStartOffset: 0,
  leaderEndOffset,
  now,
})

describe('a follower', () => {
  it('has caught up when it asks for the end of the log', () => {
    expect(afterFetch(NO_PROGRESS, fetch(5, 5, 1000))).toMatchObject({ logEndOffset: 5, lastCaughtUpTime: 1000 })
  })

  it('had caught up at its last fetch when it has all that there was then', () => {
    const before = afterFetch(NO_PROGRESS, fetch(0, 5, 1000))
    expect(before.lastCaughtUpTime).toBe(0)
    // Meanwhile the leader has got more: on a busy one nobody would ever have caught up.
    expect(afterFetch(before, fetch(5, 9, 1500)).lastCaughtUpTime).toBe(1000)
    expect(afterFetch(before, fetch(4, 9, 1500)).lastCaughtUpTime).toBe(0)
  })

  it('keeps up for as long as it may lag, and always when it has everything', () => {
    const progress: FollowerProgress = { ...NO_PROGRESS, logEndOffset: 5, lastCaughtUpTime: 1000 }
    const leader = { logEndOffset: 9, lagTimeMaxMs: 100 }
    expect(isCaughtUp(progress, { ...leader, now: 1100 })).toBe(true)
    expect(isCaughtUp(progress, { ...leader, now: 1101 })).toBe(false)
    expect(isCaughtUp(progress, { ...leader, logEndOffset: 5, now: 9999 })).toBe(true)
  })
})

describe('a log that went another way', () => {
  /** Epochs 1 and 3, from 0 and from 5 on, up to 8. */
  const log = {
    logEndOffset: 8,
    endOffsetForEpoch: (epoch: number) => {
      if (epoch >= 3) return { leaderEpoch: 3, endOffset: 8 }
      return epoch >= 1 ? { leaderEpoch: 1, endOffset: 5 } : { leaderEpoch: -1, endOffset: -1 }
    },
  }

  it.each([
    ['to where the leader ended the epoch', { leaderEpoch: 3, endOffset: 6 }, 6],
    ['to where its own ended, if that was before', { leaderEpoch: 1, endOffset: 7 }, 5],
    ['to its own last epoch before one that it never had', { leaderEpoch: 2, endOffset: 7 }, 5],
    ['to what the leader says when it knows no epoch', { leaderEpoch: 0, endOffset: 3 }, 3],
    ['to what the leader says when that knows no epoch', { leaderEpoch: -1, endOffset: 4 }, 4],
    ['nowhere when the leader does not know', { leaderEpoch: -1, endOffset: -1 }, 8],
    ['never beyond its end', { leaderEpoch: 3, endOffset: 99 }, 8],
  ])('is cut %s', (_where, diverging, offset) => {
    expect(truncationOffset(diverging, log)).toBe(offset)
  })
})
