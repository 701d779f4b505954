// The range assignor: topic by topic, each subscriber gets consecutive partitions. Topics with as many partitions and the same
// subscribers are split alike, so that equal keys of two topics meet in one member. It does not look at who owned what.
// Follows RangeAssignor with KIP-881: near partitions first, as long as the shares and the split alike stay.

import {
  type Assignment,
  type Assignor,
  type AssignorInput,
  type AssignorMember,
  assignableTopics,
  idle,
  inStaticOrder,
  sorted,
} from './assignor.ts'
import { isFar, racksMatter } from './racks.ts'

/** `range`, Kafka's default of old. */
export const rangeAssignor: Assignor = {
  name: 'range',
  rebalanceProtocol: 'eager',
  assign(input) {
    const assignment = idle(input.members)
    const members = inStaticOrder(input.members)
    const splits = assignableTopics(input).map(topic => new TopicSplit(topic, input, members))
    if (splits.some(split => racksMatterFor(split, input))) {
      for (const group of groupsSplitAlike(splits)) dealNear(group, input, assignment)
    }
    for (const split of splits) {
      for (const member of split.subscribers) split.deal(member, split.free, assignment)
    }
    return sorted(assignment)
  },
}

/** One topic while it is dealt out: what is still free and how much each subscriber may still get. */
class TopicSplit {
  readonly topic: string
  readonly subscribers: AssignorMember[]
  free: number[]
  readonly #share: number
  #extras: number
  readonly #dealt = new Map<AssignorMember, number>()

  constructor(topic: string, input: AssignorInput, members: AssignorMember[]) {
    this.topic = topic
    this.subscribers = members.filter(member => member.topics.includes(topic))
    this.free = Array.from({ length: input.partitions.get(topic)! }, (_, partition) => partition)
    this.#share = Math.floor(this.free.length / this.subscribers.length)
    this.#extras = this.free.length % this.subscribers.length
  }

  /** How many more the member may get: the equal share, and one more as long as there are extras. */
  room(member: AssignorMember): number {
    return Math.max(0, this.#share + (this.#extras > 0 ? 1 : 0) - (this.#dealt.get(member) ?? 0))
  }

  /** Gives the member the first of these partitions, as many as it has room for. */
  deal(member: AssignorMember, partitions: number[], assignment: Assignment): void {
    const given = partitions.slice(0, this.room(member))
    const dealt = (this.#dealt.get(member) ?? 0) + given.length
    if (given.length > 0 && dealt > this.#share) this.#extras--
    this.#dealt.set(member, dealt)
    this.free = this.free.filter(partition => !given.includes(partition))
    for (const partition of given) assignment.get(member.memberId)!.push({ topic: this.topic, partition })
  }
}

/** Topics with the same subscribers and the same number of partitions belong together. */
function groupsSplitAlike(splits: TopicSplit[]): TopicSplit[][] {
  const groups: TopicSplit[][] = []
  for (const split of splits) {
    const alike = groups.find(([first]) => {
      if (first.free.length !== split.free.length || first.subscribers.length !== split.subscribers.length) return false
      return first.subscribers.every((member, i) => member === split.subscribers[i])
    })
    if (alike) alike.push(split)
    else groups.push([split])
  }
  return groups
}

function racksMatterFor(split: TopicSplit, input: AssignorInput): boolean {
  const partitions = split.free.map(partition => ({ topic: split.topic, partition }))
  return racksMatter(split.subscribers, partitions, input.racks)
}

/** Deals what can be dealt within racks, giving the same number of all topics of the group to the same member. */
function dealNear(group: TopicSplit[], input: AssignorInput, assignment: Assignment): void {
  const [first] = group
  const mayGet = (member: AssignorMember, split: TopicSplit, partition: number) =>
    split.room(member) > 0 && !isFar(member, { topic: split.topic, partition }, input.racks)
  if (group.length === 1) {
    if (!racksMatterFor(first, input)) return
    for (const member of first.subscribers) {
      const near = first.free.filter(partition => mayGet(member, first, partition))
      first.deal(member, near, assignment)
    }
    return
  }
  for (const partition of [...first.free]) {
    const member = first.subscribers.find(candidate => group.every(split => mayGet(candidate, split, partition)))
    if (member) for (const split of group) split.deal(member, [partition], assignment)
  }
}
