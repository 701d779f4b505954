// All assignors under the one contract, and what only some of them promise: stickiness, cooperation, co-partitioning, racks.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignorContract, expectValid, inputArbitrary } from './assignor.contract.ts'
import type { Assignment, AssignorMember, TopicPartition } from './assignor.ts'
import { cooperativeStickyAssignor } from './cooperative-sticky.ts'
import { assignors } from './index.ts'
import { rangeAssignor } from './range.ts'
import { roundRobinAssignor } from './round-robin.ts'
import { stickyAssignor } from './sticky.ts'

for (const assignor of assignors) assignorContract(assignor)

const of = (topic: string, ...numbers: number[]): TopicPartition[] => numbers.map(partition => ({ topic, partition }))
const group = (...ids: string[]): AssignorMember[] => ids.map(memberId => ({ memberId, topics: ['t'] }))
const numbers = (assignment: Assignment) =>
  Object.fromEntries([...assignment].map(([id, owned]) => [id, owned.map(({ partition }) => partition)]))
const loads = (assignment: Assignment) => [...assignment.values()].map(owned => owned.length)

describe('range', () => {
  it('gives consecutive partitions, the first members one more', () => {
    const partitions = new Map([['t', 7]])
    const answer = numbers(rangeAssignor.assign({ members: group('b', 'c', 'a'), partitions }))
    expect(answer).toEqual({ a: [0, 1, 2], b: [3, 4], c: [5, 6] })
  })

  it('orders static members by instance id and before the dynamic ones', () => {
    const members = [
      { memberId: 'a', topics: ['t'] },
      { memberId: 'y', topics: ['t'], groupInstanceId: '2' },
      { memberId: 'z', topics: ['t'], groupInstanceId: '1' },
    ]
    const answer = numbers(rangeAssignor.assign({ members, partitions: new Map([['t', 3]]) }))
    expect(answer).toEqual({ z: [0], y: [1], a: [2] })
  })

  it('splits topics of the same size alike, also when racks would ask for something else', () => {
    const members = [
      { memberId: 'a', topics: ['s', 't'], rackId: 'r1' },
      { memberId: 'b', topics: ['s', 't'], rackId: 'r2' },
    ]
    const partitions = new Map([
      ['s', 2],
      ['t', 2],
    ])
    const crossed = new Map([
      ['s', [['r2'], ['r1']]],
      ['t', [['r2'], ['r1']]],
    ])
    const opposite = new Map([...crossed, ['t', [['r1'], ['r2']]]])
    expect(rangeAssignor.assign({ members, partitions, racks: crossed }).get('a')).toEqual([
      ...of('s', 1),
      ...of('t', 1),
    ])
    expect(rangeAssignor.assign({ members, partitions, racks: opposite }).get('a')).toEqual([
      ...of('s', 0),
      ...of('t', 0),
    ])
  })
})

describe('roundrobin', () => {
  it('deals in a circle, skipping who did not subscribe', () => {
    const members = [
      { memberId: 'a', topics: ['s', 't'] },
      { memberId: 'b', topics: ['t'] },
    ]
    const partitions = new Map([
      ['s', 2],
      ['t', 3],
    ])
    const assignment = roundRobinAssignor.assign({ members, partitions })
    expect(assignment.get('a')).toEqual([...of('s', 0, 1), ...of('t', 1)])
    expect(assignment.get('b')).toEqual(of('t', 0, 2))
  })
})

/** Every way to give `count` partitions to `members` members so that loads differ by at most one. */
function* balancedDeals(members: number, count: number): Generator<number[]> {
  const total = members ** count
  for (let code = 0; code < total; code++) {
    const owners = Array.from({ length: count }, (_, i) => Math.floor(code / members ** i) % members)
    const load = Array.from({ length: members }, (_, member) => owners.filter(owner => owner === member).length)
    if (Math.max(...load) - Math.min(...load) <= 1) yield owners
  }
}

/** Consistent claims: each partition was owned by one of the members, or by one that is gone (−1). */
const historyArbitrary = fc
  .record({ members: fc.integer({ min: 1, max: 4 }), count: fc.integer({ min: 0, max: 6 }) })
  .chain(({ members, count }) =>
    fc.record({
      members: fc.constant(members),
      before: fc.array(fc.integer({ min: -1, max: members - 1 }), { minLength: count, maxLength: count }),
    }),
  )

const claimants = (members: number, before: number[], generation: number): AssignorMember[] =>
  Array.from({ length: members }, (_, member) => ({
    memberId: `m${member}`,
    topics: ['t'],
    generation,
    ownedPartitions: of('t', ...before.flatMap((owner, partition) => (owner === member ? [partition] : []))),
  }))

describe('sticky, with equal subscriptions', () => {
  it('is balanced, and no balanced result moves less (brute force)', () => {
    fc.assert(
      fc.property(historyArbitrary, ({ members, before }) => {
        const assignment = stickyAssignor.assign({
          members: claimants(members, before, 3),
          partitions: new Map([['t', before.length]]),
        })
        const load = loads(assignment)
        expect(Math.max(...load) - Math.min(...load)).toBeLessThanOrEqual(1)
        const moves = (owners: number[]) => owners.filter((o, i) => before[i] !== -1 && before[i] !== o).length
        const owners = before.map((_, partition) =>
          [...assignment.values()].findIndex(owned => owned.some(one => one.partition === partition)),
        )
        const fewest = Math.min(...[...balancedDeals(members, before.length)].map(moves))
        expect(moves(owners)).toBe(fewest)
      }),
      { numRuns: 300 },
    )
  })

  it('moves 3 of 12 partitions when a fourth member joins three', () => {
    const before = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
    const assignment = stickyAssignor.assign({ members: claimants(4, before, 1), partitions: new Map([['t', 12]]) })
    expect(numbers(assignment)).toEqual({ m0: [0, 3, 6], m1: [1, 4, 7], m2: [2, 5, 8], m3: [9, 10, 11] })
  })

  it('ignores claims on partitions that do not exist', () => {
    const members = claimants(2, [0, 0, 0, 1], 1)
    const assignment = stickyAssignor.assign({ members, partitions: new Map([['t', 2]]) })
    expect(numbers(assignment)).toEqual({ m0: [0], m1: [1] })
  })
})

describe('sticky, with mixed subscriptions', () => {
  it('leaves no partition with a member while another subscriber has at least two less', () => {
    fc.assert(
      fc.property(inputArbitrary, input => {
        const members = input.members.map(member => ({ ...member, ownedPartitions: [] }))
        const assignment = stickyAssignor.assign({ ...input, members, racks: undefined })
        for (const [memberId, owned] of assignment) {
          for (const { topic } of owned) {
            for (const other of members.filter(candidate => candidate.topics.includes(topic))) {
              const difference = owned.length - assignment.get(other.memberId)!.length
              if (difference > 1) throw new Error(`${memberId} has ${difference} more than ${other.memberId}`)
            }
          }
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('cooperative-sticky', () => {
  it('withholds exactly what changes hands, and hands it out in the second round', () => {
    fc.assert(
      fc.property(historyArbitrary, ({ members, before }) => {
        const partitions = new Map([['t', before.length]])
        const first = claimants(members, before, 3)
        const target = stickyAssignor.assign({ members: first, partitions })
        const round1 = cooperativeStickyAssignor.assign({ members: first, partitions })
        for (const [memberId, owned] of target) {
          const wanted = owned.filter(({ partition }) => {
            const owner = before[partition]
            return owner === -1 || `m${owner}` === memberId
          })
          expect(round1.get(memberId)).toEqual(wanted)
        }
        const second = first.map(member => ({
          ...member,
          generation: 4,
          ownedPartitions: round1.get(member.memberId)!,
        }))
        const round2 = cooperativeStickyAssignor.assign({ members: second, partitions })
        expectValid({ members: second, partitions }, round2, true)
      }),
    )
  })

  it('lets the newer generation keep a partition, and nobody if two of the same generation claim it', () => {
    const claim = (memberId: string, generation: number): AssignorMember => ({
      memberId,
      topics: ['t'],
      generation,
      ownedPartitions: of('t', 0),
    })
    const partitions = new Map([['t', 1]])
    const assign = (...members: AssignorMember[]) => numbers(cooperativeStickyAssignor.assign({ members, partitions }))
    expect(assign(claim('a', 4), claim('b', 5))).toEqual({ a: [], b: [0] })
    expect(assign(claim('a', 5), claim('b', 5))).toEqual({ a: [], b: [] })
  })
})
