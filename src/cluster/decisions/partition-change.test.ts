import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PartitionImage } from '../../broker/metadata/image.ts'
import { changePartition, NO_LEADER, type PartitionChange } from './partition-change.ts'

function partition(more: Partial<PartitionImage> = {}): PartitionImage {
  return {
    partitionId: 0,
    replicas: [1, 2, 3],
    isr: [1, 2, 3],
    leader: 1,
    leaderEpoch: 5,
    partitionEpoch: 9,
    addingReplicas: [],
    removingReplicas: [],
    elr: [],
    lastKnownElr: [],
    leaderRecoveryState: 0,
    ...more,
  }
}

/** Changes a partition with these brokers alive. */
function change(before: PartitionImage, wanted: PartitionChange, alive = [1, 2, 3], minInsyncReplicas = 2) {
  return changePartition(before, wanted, { isAcceptableLeader: id => alive.includes(id), minInsyncReplicas })
}

describe('a change of the in-sync replicas', () => {
  it('raises the partition epoch, and the leader epoch only with another leader', () => {
    expect(change(partition(), { isr: [1, 2] })).toMatchObject({ isr: [1, 2], leaderEpoch: 5, partitionEpoch: 10 })
    expect(change(partition(), { isr: [2, 3] }, [2, 3])).toMatchObject({
      leader: 2,
      leaderEpoch: 6,
      partitionEpoch: 10,
    })
  })

  it('to what they are is none', () => {
    expect(change(partition(), { isr: [1, 2, 3] })).toBeUndefined()
  })

  it('elects in the order of the replicas', () => {
    expect(change(partition({ replicas: [3, 1, 2] }), { isr: [2, 3] }, [2, 3])).toMatchObject({ leader: 3 })
  })
})

describe('eligible leader replicas', () => {
  it('are those who left below the minimum, until there are enough again', () => {
    const below = change(partition({ isr: [1, 2] }), { isr: [1] }) as PartitionImage
    expect(below).toMatchObject({ isr: [1], elr: [2] })
    expect(change(below, { isr: [1, 3] })).toMatchObject({ isr: [1, 3], elr: [] })
  })

  it('lead when nobody is in sync any more', () => {
    const before = partition({ isr: [1], elr: [2] })
    expect(change(before, { isr: [] }, [2, 3])).toMatchObject({ leader: 2, isr: [2], elr: [1], leaderRecoveryState: 0 })
  })

  it('are not those who may have lost something', () => {
    const before = partition({ isr: [], elr: [1, 2], leader: NO_LEADER })
    expect(change(before, { uncleanShutdown: [2] }, [])).toMatchObject({ elr: [1] })
  })
})

describe('with nobody left', () => {
  it('the last leader is remembered, and leads again when it is back though it may have lost something', () => {
    const none = change(partition({ replicas: [1], isr: [1] }), { isr: [] }, []) as PartitionImage
    expect(none).toMatchObject({ leader: NO_LEADER, isr: [], elr: [1], lastKnownElr: [1], leaderEpoch: 6 })
    const distrusted = change(none, { uncleanShutdown: [1] }, []) as PartitionImage
    expect(distrusted).toMatchObject({ elr: [], lastKnownElr: [1] })
    expect(change(distrusted, {}, [1])).toMatchObject({ leader: 1, isr: [1], lastKnownElr: [], leaderRecoveryState: 1 })
  })

  it('anybody leads if that is allowed, and then nobody else is in sync', () => {
    const before = partition({ isr: [], elr: [1], leader: NO_LEADER })
    expect(change(before, { election: 'online' }, [2, 3])).toBeUndefined()
    expect(change(before, { election: 'unclean' }, [2, 3])).toMatchObject({
      leader: 2,
      isr: [2],
      elr: [],
      leaderRecoveryState: 1,
    })
  })
})

it('whatever changes, a leader is in sync and lives, and epochs only rise', () => {
  const ids = fc.subarray([1, 2, 3])
  const step = fc.record({
    isr: ids,
    alive: ids,
    election: fc.constantFrom('online' as const, 'preferred' as const, 'unclean' as const),
    uncleanShutdown: ids,
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.integer({ min: 1, max: 3 }), (steps, minimum) => {
      let now = partition()
      for (const { isr, alive, election, uncleanShutdown } of steps) {
        // A leader asks only for those who live; the controller takes out those who do not.
        const wanted = { isr: isr.filter(id => alive.includes(id)), election, uncleanShutdown }
        const next = change(now, wanted, alive, minimum)
        if (next === undefined) continue
        expect(next.partitionEpoch).toBe(now.partitionEpoch + 1)
        expect(next.leaderEpoch).toBe(now.leaderEpoch + (next.leader === now.leader ? 0 : 1))
        if (next.leader !== NO_LEADER) {
          expect(next.isr).toContain(next.leader)
          expect(alive).toContain(next.leader)
        }
        expect(next.elr.filter(id => next.isr.includes(id))).toEqual([])
        now = next
      }
    }),
  )
})
