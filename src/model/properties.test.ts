// Properties over random histories: a call that throws leaves everything exactly as it was, and the promises that a single example
// cannot show. A history runs twice, once with failing calls mixed in; afterwards nobody can tell the two apart.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignorNames } from './assign.ts'
import { ConsumerGroup } from './consumer-group.ts'
import { Partition } from './partition.ts'
import { Topic } from './topic.ts'

const members = ['a', 'b', 'c', '__proto__']
const groups = ['g', '__proto__']
const member = fc.constantFrom(...members)
const group = fc.constantFrom(...groups)

type TopicStep = (topic: Topic<string, number>) => unknown

const goodTopicStep: fc.Arbitrary<TopicStep> = fc.oneof(
  fc.option(fc.constantFrom('x', 'y', '__proto__')).map(
    (key): TopicStep =>
      topic =>
        topic.append(key, 1),
  ),
  fc.tuple(group, member).map(
    ([g, m]): TopicStep =>
      topic =>
        topic.join(g, m),
  ),
  fc.tuple(group, member).map(
    ([g, m]): TopicStep =>
      topic =>
        topic.leave(g, m),
  ),
  fc.tuple(group, member, fc.nat(5)).map(
    ([g, m, max]): TopicStep =>
      topic =>
        topic.poll(g, m, max),
  ),
  fc.tuple(group, member).map(
    ([g, m]): TopicStep =>
      topic =>
        topic.commit(g, m),
  ),
)

const badNumber = fc.constantFrom(-1, 0.5, Number.NaN, 2 ** 53, '1', null) as fc.Arbitrary<number>
const badTopicStep: fc.Arbitrary<TopicStep> = fc.oneof(
  fc.constantFrom(undefined, 3, {}).map(
    (key): TopicStep =>
      topic =>
        topic.append(key as never, 1),
  ),
  fc.tuple(group, member, badNumber).map(
    ([g, m, max]): TopicStep =>
      topic =>
        topic.poll(g, m, max),
  ),
  fc.tuple(group, member, badNumber).map(
    ([g, m, offset]): TopicStep =>
      topic =>
        topic.commit(g, m, { 0: 1, 1: 1, 2: offset }),
  ),
  fc.tuple(group, member, fc.constantFrom('3', '-1', '01', '')).map(
    ([g, m, p]): TopicStep =>
      topic =>
        topic.commit(g, m, { 0: 2, [p]: 1 }),
  ),
  fc.constant((topic => topic.join('g', 5 as never)) as TopicStep),
  badNumber.map(
    (p): TopicStep =>
      topic =>
        topic.endOffset(p),
  ),
)

/** Everything that can be seen of a topic, and what everybody would get next. */
function observe(topic: Topic<string, number>): unknown {
  const partitions = [...Array(topic.numPartitions).keys()]
  return {
    next: [topic.append(null, 2), topic.append('x', 2)],
    ends: partitions.map(p => topic.endOffset(p)),
    groups: groups.map(g => ({
      committed: partitions.map(p => topic.committed(g, p)),
      members: members.map(m => [topic.assignment(g, m), topic.poll(g, m, 1000)]),
    })),
  }
}

describe('a call that throws leaves the state exactly as it was', () => {
  it('Topic', () => {
    const history = fc.array(fc.oneof({ weight: 3, arbitrary: goodTopicStep }, { weight: 1, arbitrary: badTopicStep }))
    const options = fc.record({
      assignor: fc.constantFrom(...assignorNames),
      rebalance: fc.constantFrom('eager' as const, 'cooperative' as const),
    })
    let threw = 0
    fc.assert(
      fc.property(history, options, (steps, chosen) => {
        const tried = new Topic<string, number>(3, chosen)
        const spared = new Topic<string, number>(3, chosen)
        for (const step of steps) {
          try {
            step(tried)
          } catch {
            threw++
            continue
          }
          step(spared)
        }
        expect(observe(tried)).toEqual(observe(spared))
      }),
      { numRuns: 300 },
    )
    expect(threw).toBeGreaterThan(100)
  })

  it('Partition', () => {
    type Step = (partition: Partition<string, number>) => unknown
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.constantFrom('x', 'y', null).map(
        (key): Step =>
          partition =>
            partition.append(key, 1),
      ),
      fc.oneof(fc.nat(6), badNumber).map(
        (n): Step =>
          partition =>
            partition.retainCount(n),
      ),
      badNumber.map(
        (timestamp): Step =>
          partition =>
            partition.append('k', 0, { timestamp }),
      ),
      fc.constant<Step>(partition => partition.compact()),
      fc.tuple(fc.nat(3), fc.nat(2), fc.nat(4)).map(([sequence, epoch, timestamp]): Step => {
        const records = [
          { key: 'p', value: 1 },
          { key: 'p', value: 2, timestamp: timestamp - 1 },
        ]
        return partition => partition.produce({ producerId: 1, epoch, sequence: sequence * 2, records })
      }),
    )
    let threw = 0
    fc.assert(
      fc.property(fc.array(step), steps => {
        const tried = new Partition<string, number>()
        const spared = new Partition<string, number>()
        for (const run of steps) {
          try {
            run(tried)
          } catch {
            threw++
            continue
          }
          run(spared)
        }
        const seen = (p: Partition<string, number>) => [p.startOffset, p.endOffset, p.read(p.startOffset, 1000)]
        expect(seen(tried)).toEqual(seen(spared))
      }),
      { numRuns: 300 },
    )
    expect(threw).toBeGreaterThan(100)
  })

  it('ConsumerGroup', () => {
    type Step = (group: ConsumerGroup<string, number>, partitions: Partition<string, number>[]) => unknown
    const p = fc.integer({ min: -1, max: 2 })
    const n = fc.oneof({ weight: 4, arbitrary: fc.nat(9) }, { weight: 1, arbitrary: badNumber })
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.nat(1).map(
        (i): Step =>
          (_, partitions) =>
            partitions[i].append('k', 1),
      ),
      fc.tuple(fc.nat(1), fc.nat(3)).map(
        ([i, keep]): Step =>
          (_, partitions) =>
            partitions[i].retainCount(keep),
      ),
      n.map(
        (max): Step =>
          group =>
            group.poll(max),
      ),
      fc.tuple(p, n).map(
        ([i, max]): Step =>
          group =>
            group.pollPartition(i, max),
      ),
      fc.tuple(p, n).map(
        ([i, offset]): Step =>
          group =>
            group.seek(i, offset),
      ),
      fc.tuple(p, n).map(
        ([i, offset]): Step =>
          group =>
            group.commitThrough(i, offset),
      ),
      fc.constant<Step>(group => group.commit()),
    )
    fc.assert(
      fc.property(
        fc.array(step),
        fc.constantFrom('earliest' as const, 'latest' as const, 'none' as const),
        (steps, reset) => {
          const world = () => {
            const partitions = [new Partition<string, number>(), new Partition<string, number>()]
            return { partitions, group: new ConsumerGroup(partitions, { autoOffsetReset: reset }) }
          }
          const tried = world()
          const spared = world()
          for (const run of steps) {
            try {
              run(tried.group, tried.partitions)
            } catch {
              continue
            }
            run(spared.group, spared.partitions)
          }
          const seen = ({ group }: ReturnType<typeof world>) =>
            [0, 1].map(i => [group.position(i), group.committed(i), group.lag(i), group.committedLag(i), group.lost(i)])
          expect(seen(tried)).toEqual(seen(spared))
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('groups', () => {
  it.each(assignorNames)('%s: each partition has one owner as long as there are members', assignor => {
    const changes = fc.array(fc.tuple(fc.boolean(), member), { maxLength: 20 })
    fc.assert(
      fc.property(changes, fc.integer({ min: 1, max: 7 }), (steps, count) => {
        const topic = new Topic(count, { assignor })
        const present = new Set<string>()
        for (const [joins, name] of steps) {
          if (joins) {
            topic.join('g', name)
            present.add(name)
          } else {
            topic.leave('g', name)
            present.delete(name)
          }
          const owned = [...present].flatMap(name => topic.assignment('g', name))
          expect(owned.sort((a, b) => a - b)).toEqual(present.size === 0 ? [] : [...Array(count).keys()])
        }
      }),
    )
  })

  it('a consumer that commits what it polled and crashes loses nothing and repeats nothing', () => {
    const crashes = fc.array(fc.tuple(fc.nat(7), fc.boolean()), { maxLength: 30 })
    fc.assert(
      fc.property(crashes, history => {
        const topic = new Topic<string, number>(3)
        for (let i = 0; i < 60; i++) topic.append(null, i)
        const done: number[] = []
        const finish = (max: number, commits: boolean, name: string) => {
          topic.join('g', name)
          const polled = topic.poll('g', name, max)
          if (commits) topic.commit('g', name)
          if (commits) done.push(...polled.map(record => record.value))
          topic.leave('g', name)
        }
        for (const [i, [max, commits]] of history.entries()) finish(max, commits, `c${i}`)
        finish(1000, true, 'last')
        expect(done.sort((a, b) => a - b)).toEqual([...Array(60).keys()])
      }),
    )
  })
})
