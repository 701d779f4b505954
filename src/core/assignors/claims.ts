// Who owned what, for the sticky assignors: members report what they own and in which generation they got it, and reports can
// contradict each other after a member was away. Claims on partitions that no longer exist are dropped here (Kafka keeps them
// and then fails, or hands them out: see the golden lines marked `failure` and `violates`). Follows AbstractStickyAssignor.

import { type AssignorMember, compareStrings, keyOf, type TopicPartition } from './assignor.ts'

/** The assignable partitions, numbered: the sticky algorithms work on these numbers. */
export class PartitionTable {
  readonly partitions: readonly TopicPartition[]
  readonly #indexes: ReadonlyMap<string, number>

  /** Numbers the partitions topic by topic, in the order given. */
  constructor(topics: readonly string[], counts: ReadonlyMap<string, number>) {
    this.partitions = topics.flatMap(topic =>
      Array.from({ length: counts.get(topic)! }, (_, partition) => ({ topic, partition })),
    )
    this.#indexes = new Map(this.partitions.map((partition, index) => [keyOf(partition), index]))
  }

  /** The numbers of those partitions that exist, each once. */
  indexesOf(partitions: readonly TopicPartition[]): number[] {
    const indexes = partitions.flatMap(partition => this.#indexes.get(keyOf(partition)) ?? [])
    return [...new Set(indexes)]
  }
}

const NO_GENERATION = -1

export interface Claims {
  /** Per member, in the order of the members: the partitions that are rightly its own, by number and then by topic. */
  owned: number[][]
  /** Per partition: the claim from the newest generation before the present one, if there is one. */
  previousClaim: Map<number, Claim>
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
  const claims = members.flatMap(member => {
    const { generation = NO_GENERATION, ownedPartitions = [] } = member
    return table.indexesOf(ownedPartitions).map(index => ({ index, member, generation }))
  })
  const present = Math.max(NO_GENERATION, ...members.map(member => member.generation ?? NO_GENERATION))
  const rightful = new Map<number, Claim | 'contested'>()
  const newest = new Map<number, number>()
  const previous = new Map<number, Claim>()
  for (const claim of claims) {
    const { index, generation } = claim
    const rival = by === 'lastMember' && newest.has(index) ? NO_GENERATION : newest.get(index)
    if (rival === undefined || generation >= rival) {
      rightful.set(index, generation === rival ? 'contested' : claim)
      newest.set(index, generation)
    }
    const older = previous.get(index)
    if (generation < present && (older === undefined || generation > older.generation)) previous.set(index, claim)
  }
  // Of too many partitions the first ones stay: by number, so that the loss is spread over the topics.
  const partition = (index: number) => table.partitions[index]
  const byNumber = (a: number, b: number) =>
    partition(a).partition - partition(b).partition || compareStrings(partition(a).topic, partition(b).topic)
  const ownedBy = (member: AssignorMember) =>
    claims.filter(claim => claim.member === member && rightful.get(claim.index) === claim).map(claim => claim.index)
  return {
    owned: members.map(member => ownedBy(member).sort(byNumber)),
    previousClaim: previous,
  }
}

interface Claim {
  index: number
  member: AssignorMember
  generation: number
}
