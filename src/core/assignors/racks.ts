// Rack awareness (KIP-881), shared by range and the sticky assignors: which member is close to which partition, and whether it
// matters at all. It decides nothing by itself: balance comes first in every assignor, racks only break ties.
// Follows AbstractPartitionAssignor.useRackAwareAssignment.

import type { AssignorInput, AssignorMember } from './assignor.ts'

export class Racks {
  readonly #ofPartition: NonNullable<AssignorInput['racks']>

  constructor(racks: AssignorInput['racks']) {
    this.#ofPartition = racks ?? new Map()
  }

  /**
   * Whether racks make a difference for these members and topics: some member shares a rack with some replica, and not every
   * partition has a replica in every rack.
   */
  matter(
    members: readonly AssignorMember[],
    topics: readonly string[],
    partitions: AssignorInput['partitions'],
  ): boolean {
    const all = new Set<string>()
    const perPartition: number[] = []
    for (const topic of topics) {
      for (let partition = 0; partition < (partitions.get(topic) ?? 0); partition++) {
        const racks = new Set(this.of(topic, partition))
        perPartition.push(racks.size)
        for (const rack of racks) all.add(rack)
      }
    }
    const shared = members.some(member => member.rackId && all.has(member.rackId))
    return shared && perPartition.some(count => count < all.size)
  }

  of(topic: string, partition: number): readonly string[] {
    return this.#ofPartition.get(topic)?.[partition] ?? []
  }

  /** Whether a replica of the partition is in the member's own rack; a member without a rack is near nothing. */
  near(member: AssignorMember, topic: string, partition: number): boolean {
    return !!member.rackId && this.of(topic, partition).includes(member.rackId)
  }

  /** Whether the member has a rack and no replica of the partition is in it. */
  far(member: AssignorMember, topic: string, partition: number): boolean {
    return !!member.rackId && !this.near(member, topic, partition)
  }
}
