import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Prng } from '../../util/prng.ts'
import { placePartitions } from './placement.ts'

interface Node {
  brokerId: number
  rack: string | null
  fenced: boolean
}

function place(brokers: Node[], count: number, replicationFactor: number, seed = 1) {
  const prng = new Prng(seed)
  return placePartitions({ brokers, count, replicationFactor, random: () => prng.next() })
}

function nodes(racks: (string | null)[], fenced: number[] = []): Node[] {
  return racks.map((rack, index) => ({ brokerId: index + 1, rack, fenced: fenced.includes(index + 1) }))
}

function leadersOf(placed: number[][]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const [leader] of placed) counts.set(leader, (counts.get(leader) ?? 0) + 1)
  return counts
}

describe('placement', () => {
  it('gives every broker the same number of leaders', () => {
    for (let seed = 1; seed < 20; seed++) {
      const counts = leadersOf(place(nodes([null, null, null]), 9, 2, seed))
      expect([...counts.values()]).toEqual([3, 3, 3])
    }
  })

  it('spreads the replicas of a partition over the racks', () => {
    const brokers = nodes(['a', 'a', 'b', 'b', 'c', 'c'])
    const rackOf = new Map(brokers.map(({ brokerId, rack }) => [brokerId, rack]))
    for (const replicas of place(brokers, 30, 3)) {
      expect(new Set(replicas.map(id => rackOf.get(id))).size).toBe(3)
    }
  })

  it('lets no fenced broker lead, and takes one as a follower only where no other is left', () => {
    const brokers = nodes([null, null, null], [2])
    expect(leadersOf(place(brokers, 10, 3)).has(2)).toBe(false)
    for (const replicas of place(brokers, 10, 2)) expect(replicas).not.toContain(2)
    for (const replicas of place(brokers, 10, 3)) expect(replicas).toContain(2)
  })

  it('refuses more replicas than there are brokers, and to place anything while all are fenced', () => {
    expect(() => place(nodes([null, null]), 1, 3)).toThrow('only 2 broker(s) are registered')
    expect(() => place(nodes([null], [1]), 1, 1)).toThrow('All brokers are currently fenced')
  })

  it('always gives as many different brokers as were asked for', () => {
    const racks = fc.array(fc.constantFrom('a', 'b', 'c', null), { minLength: 1, maxLength: 9 })
    fc.assert(
      fc.property(racks, fc.nat(100), fc.integer({ min: 1, max: 9 }), fc.array(fc.nat(9)), (all, seed, factor, off) => {
        const brokers = nodes(all, off)
        fc.pre(factor <= brokers.length && brokers.some(({ fenced }) => !fenced))
        for (const replicas of place(brokers, 7, factor, seed)) {
          expect(replicas).toHaveLength(factor)
          expect(new Set(replicas).size).toBe(factor)
          expect(brokers.find(({ brokerId }) => brokerId === replicas[0])?.fenced).toBe(false)
        }
      }),
    )
  })
})
