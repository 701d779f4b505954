// Our assignors against what Kafka's own assignors answered: the same assignment where that is determined; where Kafka follows the order of
// Java's hash tables or fails, a valid one that is as balanced and keeps as much.

import { describe, expect, it } from 'vitest'
import type { Assignment, AssignorInput } from '../../src/core/assignors/assignor.ts'
import { assignors } from '../../src/core/assignors/index.ts'
import { loadGolden } from './load.ts'

type Pair = [topic: string, partition: number]

interface Line {
  assignor: string
  group: number
  round: number
  topics: Record<string, number>
  racks?: Record<string, string[][]>
  members: {
    memberId: string
    groupInstanceId?: string
    rackId?: string
    topics: string[]
    ownedPartitions?: Pair[]
    generation?: number
  }[]
  /** `nothing` and `inputOrder` (the lines list members in plain order): compare exactly. */
  dependsOn?: 'nothing' | 'inputOrder' | 'hashOrder'
  assignment: Record<string, Pair[]>
  violates?: string[]
  failure?: object
}

const byName = new Map(assignors.map(assignor => [assignor.name, assignor]))
const lines = loadGolden<Line>('assignors').filter(line => byName.has(line.assignor))
const determined = (line: Line) => line.failure === undefined && line.violates === undefined

function inputOf(line: Line): AssignorInput {
  const members = line.members.map(member => ({
    ...member,
    ownedPartitions: member.ownedPartitions?.map(([topic, partition]) => ({ topic, partition })),
  }))
  return {
    members,
    partitions: new Map(Object.entries(line.topics)),
    racks: line.racks && new Map(Object.entries(line.racks)),
  }
}

const assign = (line: Line) => byName.get(line.assignor)!.assign(inputOf(line))
const asSets = (pairs: Iterable<[string, Pair[]]>) =>
  new Map([...pairs].map(([member, owned]) => [member, owned.map(([topic, number]) => `${topic}:${number}`).sort()]))
const pairsOf = (assignment: Assignment) =>
  [...assignment].map(
    ([member, owned]) => [member, owned.map(({ topic, partition }): Pair => [topic, partition])] as [string, Pair[]],
  )

/** How many partitions stay where somebody claimed them. */
function kept(line: Line, sets: Map<string, string[]>): number {
  const claimed = asSets(line.members.map(member => [member.memberId, member.ownedPartitions ?? []]))
  return [...sets].reduce(
    (sum, [member, owned]) => sum + owned.filter(key => claimed.get(member)!.includes(key)).length,
    0,
  )
}

const loads = (sets: Map<string, string[]>) => [...sets.values()].map(owned => owned.length).sort((a, b) => a - b)

function expectValid(line: Line, sets: Map<string, string[]>): void {
  const owned = [...sets.values()].flat()
  expect(new Set(owned).size).toBe(owned.length)
  for (const member of line.members) {
    const mayHave = member.topics.flatMap(topic =>
      Array.from({ length: line.topics[topic] }, (_, p) => `${topic}:${p}`),
    )
    for (const key of sets.get(member.memberId)!) expect(mayHave).toContain(key)
  }
  if (line.assignor === 'cooperative-sticky') return
  const subscribed = new Set(line.members.flatMap(member => member.topics))
  const wanted = Object.entries(line.topics).filter(([topic]) => subscribed.has(topic))
  expect(owned.length).toBe(wanted.reduce((sum, [, count]) => sum + count, 0))
}

const name = (line: Line) => `${line.assignor}, group ${line.group}, round ${line.round}`
const exact = lines.filter(line => determined(line) && line.dependsOn !== 'hashOrder')
const free = lines.filter(line => determined(line) && line.dependsOn === 'hashOrder')
const wrong = lines.filter(line => !determined(line))

describe('assignors, as Kafka assigns', () => {
  it('has all lines', () => expect([exact.length, free.length, wrong.length]).toEqual([765, 17, 18]))

  it.each(exact.map(line => [name(line), line] as const))('%s: the same assignment', (_, line) => {
    expect(asSets(pairsOf(assign(line)))).toEqual(asSets(Object.entries(line.assignment)))
  })

  it.each(free.map(line => [name(line), line] as const))('%s: as balanced, keeping as much', (_, line) => {
    const ours = asSets(pairsOf(assign(line)))
    const kafkas = asSets(Object.entries(line.assignment))
    expectValid(line, ours)
    expect(loads(ours)).toEqual(loads(kafkas))
    expect(kept(line, ours)).toBeGreaterThanOrEqual(kept(line, kafkas))
  })

  it.each(wrong.map(line => [name(line), line] as const))('%s: valid where Kafka is not', (_, line) => {
    expectValid(line, asSets(pairsOf(assign(line))))
  })
})
