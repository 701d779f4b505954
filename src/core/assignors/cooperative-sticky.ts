// The cooperative sticky assignor (KIP-429): the sticky deal, but a partition that changes its owner is withheld for one round. Its
// owner learns that it must give it up, rejoins, and the next round hands it out; everybody else never stops reading.
// Follows CooperativeStickyAssignor.

import type { Assignment, Assignor, AssignorInput, TopicPartition } from './assignor.ts'
import { assignSticky, type StickyResult } from './sticky.ts'

/** `cooperative-sticky`. */
export const cooperativeStickyAssignor: Assignor = {
  name: 'cooperative-sticky',
  rebalanceProtocol: 'cooperative',
  assign(input) {
    return withholdTransfers(input, assignSticky(input, 'newestGeneration'))
  },
}

/** Takes out what is not a member's own until now while another one says that it owns it. */
function withholdTransfers(input: AssignorInput, { assignment, owned }: StickyResult): Assignment {
  const claimants = new Map<string, Set<string>>()
  for (const member of input.members) {
    for (const partition of member.ownedPartitions ?? []) {
      const key = keyOf(partition)
      claimants.set(key, (claimants.get(key) ?? new Set()).add(member.memberId))
    }
  }
  const settled: Assignment = new Map()
  for (const [memberId, partitions] of assignment) {
    const kept = new Set(owned.get(memberId)!.map(keyOf))
    const isFree = (partition: TopicPartition) => {
      const others = new Set(claimants.get(keyOf(partition)))
      others.delete(memberId)
      return others.size === 0 || kept.has(keyOf(partition))
    }
    settled.set(memberId, partitions.filter(isFree))
  }
  return settled
}

/** Unique, because the number after the last colon is the partition. */
function keyOf(partition: TopicPartition): string {
  return `${partition.topic}:${partition.partition}`
}
