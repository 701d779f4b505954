import { describe, expect, it } from 'vitest'
import type { ReplicaFetchRequest, ReplicaFetchTarget } from '../link.ts'
import { FollowerSessions, ToldTargets } from './replica-fetch-session.ts'

const FOLLOWER = 2

/** A follower and its leader, and the way between them. */
function ends() {
  const told = new ToldTargets()
  const sessions = new FollowerSessions()
  let number = 0
  return {
    told,
    sessions,
    /** The next fetch for these offsets, by topic; all are of partition 0. */
    fetch(offsets: Record<string, number>, brokerEpoch = 7): ReplicaFetchRequest {
      const targets = new Map(Object.entries(offsets).map(([topic, at]) => [`${topic}-0`, target(topic, at)]))
      const rest = { replicaId: FOLLOWER, brokerEpoch, maxWaitMs: 500, minBytes: 1, maxBytes: 1000 }
      number++
      return { ...rest, number, ...told.tell(number, targets) }
    },
  }
}

function target(topicId: string, fetchOffset: number): ReplicaFetchTarget {
  const log = { fetchOffset, lastFetchedEpoch: 0, logStartOffset: 0, highWatermark: 0 }
  return { topicId, partitionId: 0, currentLeaderEpoch: 0, maxBytes: 100, ...log }
}

/** What the leader takes a fetch to ask for. */
function asked(sessions: FollowerSessions, request: ReplicaFetchRequest): Record<string, number> | undefined {
  const partitions = sessions.continue(request)?.partitions.values()
  return (
    partitions &&
    Object.fromEntries([...partitions].map(({ target: { topicId, fetchOffset } }) => [topicId, fetchOffset]))
  )
}

function named({ partitions, forgotten }: ReplicaFetchRequest) {
  return { partitions: partitions.map(({ topicId }) => topicId), forgotten }
}

describe('a follower', () => {
  it('names all partitions at first, and then those that changed, came or went', () => {
    const { sessions, fetch } = ends()
    const histories: Record<string, number>[] = [
      { a: 0, b: 0 },
      { a: 0, b: 0 },
      { a: 0, b: 5 },
      { b: 5, c: 1 },
      { a: 0, b: 5, c: 1 },
    ]
    const requests = histories.map(offsets => ({ offsets, request: fetch(offsets) }))
    expect(requests.map(({ request }) => named(request))).toEqual([
      { partitions: ['a', 'b'], forgotten: [] },
      { partitions: [], forgotten: [] },
      { partitions: ['b'], forgotten: [] },
      { partitions: ['c'], forgotten: ['a-0'] },
      { partitions: ['a'], forgotten: [] },
    ])
    for (const { offsets, request } of requests) expect(asked(sessions, request)).toEqual(offsets)
  })

  it.each([
    'fetchOffset',
    'lastFetchedEpoch',
    'logStartOffset',
    'highWatermark',
    'currentLeaderEpoch',
    'maxBytes',
  ] as const)('names a partition whose %s changed', field => {
    const { told } = ends()
    const before = target('a', 3)
    told.tell(1, new Map([['a-0', before]]))
    const after = { ...before, [field]: before[field] + 1 }
    expect(told.tell(2, new Map([['a-0', after]])).partitions).toEqual([after])
  })

  it('names all again once it does not know what its leader knows', () => {
    const { told, sessions, fetch } = ends()
    sessions.continue(fetch({ a: 0, b: 0 }))
    told.forget()
    const request = fetch({ b: 0 })
    expect(named(request)).toEqual({ partitions: ['b'], forgotten: [] })
    expect(asked(sessions, request)).toEqual({ b: 0 })
  })
})

describe('a leader', () => {
  it('knows no fetch after one that it did not get, until all is named', () => {
    const { told, sessions, fetch } = ends()
    sessions.continue(fetch({ a: 0 }))
    fetch({ a: 1 })
    expect(asked(sessions, fetch({ a: 2 }))).toBeUndefined()
    expect(asked(sessions, fetch({ a: 2 }))).toBeUndefined()
    told.forget()
    expect(asked(sessions, fetch({ a: 2 }))).toEqual({ a: 2 })
  })

  it('takes no fetch twice', () => {
    const { sessions, fetch } = ends()
    sessions.continue(fetch({ a: 0 }))
    const request = fetch({ a: 1 })
    expect(asked(sessions, request)).toEqual({ a: 1 })
    expect(asked(sessions, request)).toBeUndefined()
    expect(asked(sessions, fetch({ a: 2 }))).toEqual({ a: 2 })
  })

  it('does not take one registration of a broker for another', () => {
    const { sessions, fetch } = ends()
    sessions.continue(fetch({ a: 0 }, 7))
    expect(asked(sessions, fetch({ a: 0 }, 8))).toBeUndefined()
  })

  it('knows nothing of a follower of the leader before', () => {
    const { sessions, fetch } = ends()
    sessions.continue(fetch({ a: 0 }))
    expect(asked(new FollowerSessions(), fetch({ a: 0 }))).toBeUndefined()
  })
})
