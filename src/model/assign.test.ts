// Section 3: assignors, how much they move, and the comparison of them.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignorNames, assignPartitions, type TopicPartition } from './assign.ts'
import { compareAssignors, movement, settledAssignment } from './movement.ts'

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'B', '10', '9', '__proto__', ''), { maxLength: 6 })
const topics = ['s', 't', '__proto__']
const subscriptions = fc
  .uniqueArray(fc.tuple(fc.constantFrom<string[]>('a', 'b', 'c', '__proto__'), fc.subarray([...topics, 'unknown'])), {
    selector: ([name]) => name,
  })
  .map(entries => new Map(entries))
const counts = fc
  .tuple(fc.nat(6), fc.nat(6), fc.nat(6))
  .map(numbers => Object.fromEntries(topics.map((topic, i) => [topic, numbers[i]])))

describe.each(assignorNames)('assignPartitions, %s', assignor => {
  it('gives each partition of one topic exactly one owner, ascending, independent of the order', () => {
    fc.assert(
      fc.property(names, fc.nat(12), (members, count) => {
        const assignment = assignPartitions(members, count, { assignor })
        expect([...assignment.keys()]).toEqual([...members].sort())
        if (members.length > 0) {
          expect([...assignment.values()].flat().sort((a, b) => a - b)).toEqual([...Array(count).keys()])
        }
        for (const owned of assignment.values()) expect(owned).toEqual([...owned].sort((a, b) => a - b))
        const numbers = [...Array(count).keys()].reverse()
        expect(assignPartitions([...members].reverse(), numbers, { assignor })).toEqual(assignment)
      }),
    )
  })

  it('gives nobody a topic it did not subscribe, and the rest to exactly one', () => {
    fc.assert(
      fc.property(subscriptions, counts, (members, partitions) => {
        const assignment = assignPartitions(members, partitions, { assignor })
        const owned: TopicPartition[] = []
        for (const [member, mine] of assignment) {
          for (const one of mine) expect(members.get(member)).toContain(one.topic)
          owned.push(...mine)
        }
        const subscribed = new Set([...members.values()].flat())
        const wanted = Object.entries(partitions).flatMap(([topic, count]) =>
          subscribed.has(topic) ? Array.from({ length: count }, (_, partition) => `${topic}/${partition}`) : [],
        )
        expect(owned.map(({ topic, partition }) => `${topic}/${partition}`).sort()).toEqual(wanted.sort())
      }),
    )
  })

  it('takes the numbers of partitions, also with gaps', () => {
    const assignment = assignPartitions(['b', 'a'], [70, 3, 5], { assignor })
    expect(assignment.get('a')).toEqual(assignor === 'range' ? [3, 5] : [3, 70])
  })

  it('changes nothing it is given and keeps nothing of it', () => {
    const members = ['b', 'a']
    const numbers = [1, 0]
    const previous = new Map([['b', [0, 1]]])
    assignPartitions(members, numbers, { assignor, previous }).get('a')?.push(9)
    expect([members, numbers, [...previous]]).toEqual([['b', 'a'], [1, 0], [['b', [0, 1]]]])
  })
})

describe('assignPartitions', () => {
  it('range and round-robin of several topics, as Kafka', () => {
    const members = new Map([
      ['A', ['s', 't']],
      ['B', ['t']],
    ])
    const show = (assignor: 'range' | 'roundrobin') =>
      Object.fromEntries(
        [...assignPartitions(members, { s: 2, t: 3 }, { assignor })].map(([member, owned]) => [
          member,
          owned.map(({ topic, partition }) => topic + partition),
        ]),
      )
    expect(show('range')).toEqual({ A: ['s0', 's1', 't0', 't1'], B: ['t2'] })
    expect(show('roundrobin')).toEqual({ A: ['s0', 's1', 't1'], B: ['t0', 't2'] })
  })

  it('sticky keeps what can stay, cooperative-sticky withholds for one round', () => {
    const previous = new Map([
      ['a', [0, 1, 2]],
      ['b', [3, 4, 5]],
    ])
    const three = ['a', 'b', 'c']
    expect([...assignPartitions(three, 6, { assignor: 'sticky', previous })]).toEqual([
      ['a', [0, 1]],
      ['b', [3, 4]],
      ['c', [2, 5]],
    ])
    const round1 = assignPartitions(three, 6, { assignor: 'cooperative-sticky', previous })
    expect([...round1.values()]).toEqual([[0, 1], [3, 4], []])
    const round2 = assignPartitions(three, 6, { assignor: 'cooperative-sticky', previous: round1 })
    expect([...round2.values()]).toEqual([
      [0, 1],
      [3, 4],
      [2, 5],
    ])
  })

  it('previous may name members and partitions that are gone', () => {
    const previous = new Map([
      ['gone', [0]],
      ['a', [1, 7, -1, 0.5]],
    ])
    expect([...assignPartitions(['a', 'b'], 2, { assignor: 'sticky', previous })]).toEqual([
      ['a', [1]],
      ['b', [0]],
    ])
  })

  it.each([
    [['a'], -1, {}, RangeError, /partitions.*-1/],
    [['a'], 0.5, {}, RangeError, /partitions/],
    [['a'], Number.NaN, {}, RangeError, /partitions.*NaN/],
    [['a'], 2 ** 40, {}, RangeError, /partitions/],
    [['a'], [0, 0], {}, RangeError, /partitions/],
    [['a'], [0, -1], {}, RangeError, /partitions/],
    [['a'], '3', {}, TypeError, /partitions/],
    [['a'], undefined, {}, TypeError, /partitions/],
    [['a', 1], 3, {}, TypeError, /members.*1/],
    ['abc', 3, {}, TypeError, /members/],
    [null, 3, {}, TypeError, /members/],
    [['a'], 3, { assignor: 'best' }, RangeError, /assignor.*best/],
    [['a'], 3, { previous: {} }, TypeError, /previous/],
    [new Map([['a', ['t']]]), 3, {}, TypeError, /partitions/],
    [new Map([['a', ['t']]]), { t: -1 }, {}, RangeError, /t.*-1/],
    [new Map([['a', 't']]), { t: 1 }, {}, TypeError, /topics/],
    [new Map([['a', [1]]]), { t: 1 }, {}, TypeError, /topics/],
  ])('bad input: members %j, partitions %j, %j', (members, partitions, options, type, message) => {
    const call = () => assignPartitions(members as never, partitions as never, options as never)
    expect(call).toThrow(type)
    expect(call).toThrow(message)
  })
})

describe('movement', () => {
  it('counts partitions with another owner; new, vanished and unowned ones are not counted', () => {
    const before = new Map([
      ['a', [0, 1, 2]],
      ['b', [3]],
    ])
    const after = new Map([
      ['a', [0, 3]],
      ['c', [1, 9]],
    ])
    expect(movement(before, after)).toBe(2)
    expect(movement(before, before)).toBe(0)
    expect(movement(new Map(), after)).toBe(0)
  })

  it('takes assignments of several topics', () => {
    const of = (member: string, topic: string, partition: number) => new Map([[member, [{ topic, partition }]]])
    expect(movement(of('a', 's', 0), of('b', 's', 0))).toBe(1)
    expect(movement(of('a', 's', 0), of('b', 't', 0))).toBe(0)
  })

  it('sticky, 12 partitions, A B C then D joins: 3 moves, range more', () => {
    const { rows, total } = compareAssignors({ partitions: 12, members: ['A', 'B', 'C'], changes: ['+D'] })
    expect(rows[0].moves.sticky).toBe(3)
    expect(rows[0].moves['cooperative-sticky']).toBe(3)
    expect(rows[0].moves.range).toBeGreaterThan(3)
    expect(total).toEqual(rows[0].moves)
  })
})

describe('compareAssignors', () => {
  it('has a row per change and a total', () => {
    const changes = ['+d', '-a', '-a', '+d']
    const { rows, total } = compareAssignors({ partitions: 12, members: ['c', 'a', 'b', 'a'], changes })
    expect(rows.map(row => [row.change, row.members.join('')])).toEqual([
      ['+d', 'abcd'],
      ['-a', 'bcd'],
      ['-a', 'bcd'],
      ['+d', 'bcd'],
    ])
    for (const name of assignorNames) {
      for (const row of rows) expect(movement(row.before[name], row.after[name])).toBe(row.moves[name])
      expect(total[name]).toBe(rows.reduce((sum, row) => sum + row.moves[name], 0))
      // What does not change the membership moves nothing.
      expect([rows[2].moves[name], rows[3].moves[name]]).toEqual([0, 0])
      expect(rows[1].before[name]).toEqual(rows[0].after[name])
    }
  })

  it('over long histories sticky moves far fewer than range', () => {
    const changes = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? `+x${i % 14}` : `-x${(i * 5) % 14}`))
    const { total } = compareAssignors({ partitions: 30, members: ['a', 'b', 'c'], changes })
    expect(total.sticky).toBeLessThan(total.range / 2)
  })

  it.each(['d', '+', '', '*d', 3])('refuses the change %j', change => {
    const call = () => compareAssignors({ partitions: 3, members: ['a'], changes: [change as string] })
    expect(call).toThrow(/changes/)
  })
})

describe('settledAssignment', () => {
  it('ends the rounds of cooperative-sticky: complete, and another round changes nothing', () => {
    fc.assert(
      fc.property(names, names, fc.nat(10), (first, second, count) => {
        fc.pre(first.length > 0 && second.length > 0)
        const assignor = 'cooperative-sticky'
        const before = settledAssignment(first, count, assignor)
        const after = settledAssignment(second, count, assignor, before)
        expect([...after.values()].flat().length).toBe(count)
        expect(assignPartitions(second, count, { assignor, previous: after })).toEqual(after)
      }),
    )
  })
})
