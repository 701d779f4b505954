// Who reads what: the assignors of a consumer group, for one topic or for several. Range and round-robin are written out here; the
// sticky ones are Kafka's long algorithm and come from core/assignors, which Kafka's own answers judge. Static members and racks are
// left to core. Follows RangeAssignor, RoundRobinAssignor, StickyAssignor and CooperativeStickyAssignor.

import type { AssignorMember } from '../core/assignors/assignor.ts'
import { cooperativeStickyAssignor } from '../core/assignors/cooperative-sticky.ts'
import { stickyAssignor } from '../core/assignors/sticky.ts'
import { checkArray, checkChoice, checkCount, checkInteger, checkName, checkRange, checkType } from './check.ts'

export interface TopicPartition {
  topic: string
  partition: number
}

export type AssignorName = 'range' | 'roundrobin' | 'sticky' | 'cooperative-sticky'

export const assignorNames: readonly AssignorName[] = ['range', 'roundrobin', 'sticky', 'cooperative-sticky']

/** What every member has: partitions of the one topic, or of several. */
export type Assignment = Map<string, number[]>
export type TopicsAssignment = Map<string, TopicPartition[]>

export interface AssignOptions<A> {
  /** `range` by default. */
  assignor?: AssignorName
  /** Who had what until now. Only the sticky assignors look at it. */
  previous?: A | undefined
}

/**
 * Assigns the partitions of one topic (a count, or their numbers) to members. Everybody has an entry in the result, an idle member an
 * empty list; lists are ascending; the order of the input does not matter.
 *
 * `cooperative-sticky` answers one round: a partition that changes its owner is withheld from the new one. Ask again with the answer
 * as `previous` to hand it out.
 *
 * @throws RangeError if a count, a partition or the assignor's name is not one; TypeError if members are not names
 * @example assignPartitions(['A', 'B', 'C'], 7) // A → [0, 1, 2], B → [3, 4], C → [5, 6]
 */
export function assignPartitions(
  members: readonly string[],
  partitions: number | readonly number[],
  options?: AssignOptions<Assignment>,
): Assignment
/**
 * The same for several topics: members with the topics they subscribed to, and topics with their number of partitions.
 *
 * @example assignPartitions(new Map([['A', ['s', 't']], ['B', ['t']]]), { s: 2, t: 3 }, { assignor: 'roundrobin' })
 */
export function assignPartitions(
  members: ReadonlyMap<string, readonly string[]>,
  partitions: Readonly<Record<string, number>>,
  options?: AssignOptions<TopicsAssignment>,
): TopicsAssignment
export function assignPartitions(
  members: readonly string[] | ReadonlyMap<string, readonly string[]>,
  partitions: number | readonly number[] | Readonly<Record<string, number>>,
  options: AssignOptions<Assignment | TopicsAssignment> = {},
): Assignment | TopicsAssignment {
  const { assignor = 'range', previous = new Map<string, never[]>() } = options
  checkChoice('assignor', assignor, ...assignorNames)
  checkType(previous instanceof Map, 'previous', 'a Map', previous)
  if (members instanceof Map) {
    return assignTopics(
      checkSubscriptions(members),
      checkTopics(partitions as object),
      assignor,
      previous as TopicsAssignment,
    )
  }
  return assignOneTopic(
    members as string[],
    numbersOf(partitions as number | number[]),
    assignor,
    previous as Assignment,
  )
}

/** One topic is the case of several with one of them; the i-th of its numbers stands for partition i. */
function assignOneTopic(
  members: readonly string[],
  numbers: readonly number[],
  assignor: AssignorName,
  previous: Assignment,
): Assignment {
  checkNames('members', members)
  const topic = 'topic'
  const subscriptions = new Map(members.map(member => [member, [topic]]))
  const asTopic = (owned: readonly number[]) =>
    owned.filter(number => numbers.includes(number)).map(number => ({ topic, partition: numbers.indexOf(number) }))
  const before = new Map([...previous].map(([member, owned]) => [member, asTopic(owned)]))
  const assignment = assignTopics(subscriptions, new Map([[topic, numbers.length]]), assignor, before)
  return new Map([...assignment].map(([member, owned]) => [member, owned.map(({ partition }) => numbers[partition])]))
}

function assignTopics(
  subscriptions: ReadonlyMap<string, readonly string[]>,
  topics: ReadonlyMap<string, number>,
  assignor: AssignorName,
  previous: TopicsAssignment,
): TopicsAssignment {
  if (assignor === 'range') return assignRanges(subscriptions, topics)
  if (assignor === 'roundrobin') return assignRoundRobin(subscriptions, topics)
  const sticky = assignor === 'sticky' ? stickyAssignor : cooperativeStickyAssignor
  const members = [...subscriptions].map(([memberId, subscribed]): AssignorMember => {
    return { memberId, topics: subscribed, ownedPartitions: previous.get(memberId) ?? [], generation: 1 }
  })
  return new Map(inOrder(sticky.assign({ members, partitions: topics })))
}

/** Topic by topic: everybody gets as many consecutive partitions, the first members one more if it does not divide. */
function assignRanges(
  subscriptions: ReadonlyMap<string, readonly string[]>,
  topics: ReadonlyMap<string, number>,
): TopicsAssignment {
  const assignment = nobodyHasAnything(subscriptions)
  for (const [topic, count] of inOrder(topics)) {
    const subscribers = inOrder(subscriptions).filter(([, subscribed]) => subscribed.includes(topic))
    const share = Math.floor(count / subscribers.length)
    const extra = count % subscribers.length
    let next = 0
    for (const [place, [member]] of subscribers.entries()) {
      const end = next + share + (place < extra ? 1 : 0)
      while (next < end) assignment.get(member)!.push({ topic, partition: next++ })
    }
  }
  return assignment
}

/** All partitions of all topics in order, dealt to the members in a circle that skips who did not subscribe. */
function assignRoundRobin(
  subscriptions: ReadonlyMap<string, readonly string[]>,
  topics: ReadonlyMap<string, number>,
): TopicsAssignment {
  const assignment = nobodyHasAnything(subscriptions)
  const circle = inOrder(subscriptions)
  let turn = 0
  for (const [topic, count] of inOrder(topics)) {
    if (!circle.some(([, subscribed]) => subscribed.includes(topic))) continue
    for (let partition = 0; partition < count; partition++) {
      while (!circle[turn][1].includes(topic)) turn = (turn + 1) % circle.length
      assignment.get(circle[turn][0])!.push({ topic, partition })
      turn = (turn + 1) % circle.length
    }
  }
  return assignment
}

function nobodyHasAnything(subscriptions: ReadonlyMap<string, unknown>): TopicsAssignment {
  return new Map(inOrder(subscriptions).map(([member]) => [member, []]))
}

/** Entries in plain order of their names (UTF-16 code units, as in Java). */
function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

function numbersOf(partitions: number | readonly number[]): number[] {
  if (typeof partitions === 'number') return [...Array(checkInteger('partitions', partitions, 0, 2147483647)).keys()]
  checkArray('partitions', partitions)
  const numbers = partitions.map(number => checkCount('partitions', number)).sort((a, b) => a - b)
  checkRange(new Set(numbers).size === numbers.length, 'partitions', 'different numbers', numbers)
  return numbers
}

function checkTopics(partitions: object): Map<string, number> {
  const isObject = typeof partitions === 'object' && partitions !== null && !Array.isArray(partitions)
  checkType(isObject, 'partitions', 'an object', partitions)
  const topics = new Map<string, number>(partitions instanceof Map ? partitions : Object.entries(partitions))
  for (const [topic, count] of topics) checkCount(`partitions of ${topic}`, count)
  return topics
}

function checkSubscriptions(members: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  for (const [member, topics] of members) {
    checkName('members', member)
    checkNames('topics', topics)
  }
  return members
}

function checkNames(name: string, values: readonly string[]): void {
  checkArray(name, values)
  for (const value of values) checkName(name, value)
}
