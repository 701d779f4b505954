// Who owned what, for the sticky assignors: members report what they own and in which generation they got it, and reports can
// contradict each other after a member was away. Claims on partitions that no longer exist are dropped here (Kafka keeps them
// and then fails, or hands them out: see the golden lines marked `failure` and `violates`). Follows AbstractStickyAssignor.

import { type AssignorMember, compareStrings } from './assignor.ts'

/** All assignable partitions, numbered; the assignors work on these numbers. */
export class PartitionTable {
  readonly topics: readonly string[]
  readonly topicOf: string[] = []
  readonly numberOf: number[] = []
  readonly #first = new Map<string, number>()
  readonly #counts: ReadonlyMap<string, number>

  /** Numbers the partitions topic by topic, in the order given. */
  constructor(topics: readonly string[], counts: ReadonlyMap<string, number>) {
    this.topics = topics
    this.#counts = counts
    for (const topic of topics) {
      this.#first.set(topic, this.topicOf.length)
      for (let partition = 0; partition < counts.get(topic)!; partition++) {
        this.topicOf.push(topic)
        this.numberOf.push(partition)
      }
    }
  }

  get size(): number {
    return this.topicOf.length
  }

  /** The index of a partition, −1 if there is no such partition. */
  indexOf(topic: string, partition: number): number {
    const first = this.#first.get(topic)
    return first === undefined || !(partition >= 0 && partition < this.#counts.get(topic)!) ? -1 : first + partition
  }
}

const NO_GENERATION = -1

export interface Claims {
  /** Per member, in the order of the members: the partitions that are rightly its own, by number and then by topic. */
  owned: number[][]
  /** Per partition: the member that owned it in the newest generation before the present one, if one said so. */
  previousOwner: Map<number, AssignorMember>
}

/**
 * How contradicting claims on one partition are settled.
 * - `newestGeneration`: the newer generation wins, of equal ones nobody does (cooperative-sticky).
 * - `lastMember`: the last claimant that knows a generation wins, by member id; without one nobody does. This is what Kafka's
 *   eager sticky assignor does, because it looks for the rival's generation in a field that eager members leave empty.
 */
export type SettleBy = 'newestGeneration' | 'lastMember'

/** `members` are sorted by id. */
export function settleClaims(members: readonly AssignorMember[], table: PartitionTable, by: SettleBy): Claims {
  const winners = new Map<number, Winner>()
  for (const member of members) {
    for (const index of claimsOf(member, table)) {
      const rival = winners.get(index)
      const rivalGeneration = by === 'newestGeneration' ? rival?.generation : NO_GENERATION
      const generation = generationOf(member)
      if (rival === undefined || generation > rivalGeneration!) winners.set(index, { member, generation })
      else if (generation === rivalGeneration) winners.set(index, { member: undefined, generation })
    }
  }
  const rightly = (member: AssignorMember) => (index: number) => winners.get(index)!.member === member
  const owned = members.map(member => claimsOf(member, table).filter(rightly(member)))
  // Of too many partitions the first ones stay: by number, so that the loss is spread over the topics.
  const { numberOf, topicOf } = table
  const byNumber = (a: number, b: number) => numberOf[a] - numberOf[b] || compareStrings(topicOf[a], topicOf[b])
  for (const list of owned) list.sort(byNumber)
  return { owned, previousOwner: previousOwners(members, table) }
}

interface Winner {
  /** Absent if nobody has a right to the partition. */
  member: AssignorMember | undefined
  generation: number
}

function previousOwners(members: readonly AssignorMember[], table: PartitionTable): Map<number, AssignorMember> {
  const present = Math.max(NO_GENERATION, ...members.map(generationOf))
  const previous = new Map<number, AssignorMember>()
  for (const member of members.filter(candidate => generationOf(candidate) < present)) {
    for (const index of claimsOf(member, table)) {
      const other = previous.get(index)
      if (other === undefined || generationOf(member) > generationOf(other)) previous.set(index, member)
    }
  }
  return previous
}

function generationOf(member: AssignorMember): number {
  return member.generation ?? NO_GENERATION
}

/** The existing partitions a member says it owns, each once. */
function claimsOf(member: AssignorMember, table: PartitionTable): number[] {
  const indexes = (member.ownedPartitions ?? []).map(owned => table.indexOf(owned.topic, owned.partition))
  return [...new Set(indexes)].filter(index => index >= 0)
}
