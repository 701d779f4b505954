// Rack awareness (KIP-881), shared by range and the sticky assignors: which member is far from which partition, and whether it
// matters at all. It decides nothing by itself: balance comes first in every assignor, racks only break ties.
// Follows AbstractPartitionAssignor.useRackAwareAssignment.

import type { AssignorInput, AssignorMember, TopicPartition } from './assignor.ts'

/** Whether a replica of the partition is in the member's own rack; a member without a rack is near nothing. */
function isNear(member: AssignorMember, partition: TopicPartition, racks: AssignorInput['racks']): boolean {
  return !!member.rackId && racksOf(partition, racks).includes(member.rackId)
}

/** Whether the member has a rack and no replica of the partition is in it. */
export function isFar(member: AssignorMember, partition: TopicPartition, racks: AssignorInput['racks']): boolean {
  return !!member.rackId && !isNear(member, partition, racks)
}

/**
 * Whether racks make a difference for these members and partitions: some member shares a rack with some replica, and not every
 * partition has a replica in every rack.
 */
export function racksMatter(
  members: readonly AssignorMember[],
  partitions: readonly TopicPartition[],
  racks: AssignorInput['racks'],
): boolean {
  const each = partitions.map(partition => new Set(racksOf(partition, racks)))
  const all = new Set(each.flatMap(set => [...set]))
  const shared = members.some(member => member.rackId && all.has(member.rackId))
  return shared && each.some(set => set.size < all.size)
}

function racksOf({ topic, partition }: TopicPartition, racks: AssignorInput['racks']): readonly string[] {
  return racks?.get(topic)?.[partition] ?? []
}

/** Near and far by the places of members and partitions; where racks do not matter, nothing is near or far. */
export interface Nearness {
  isNear(member: number, partition: number): boolean
  isFar(member: number, partition: number): boolean
}

export function nearnessOf(
  members: readonly AssignorMember[],
  partitions: readonly TopicPartition[],
  racks: AssignorInput['racks'],
): Nearness {
  const matter = racksMatter(members, partitions, racks)
  return {
    isNear: (member, partition) => matter && isNear(members[member], partitions[partition], racks),
    isFar: (member, partition) => matter && isFar(members[member], partitions[partition], racks),
  }
}
