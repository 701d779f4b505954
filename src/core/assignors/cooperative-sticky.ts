// The cooperative sticky assignor (KIP-429): the sticky deal, but a partition that changes its owner is withheld for one round. Its
// owner learns that it must give it up, rejoins, and the next round hands it out; everybody else never stops reading.
// Follows CooperativeStickyAssignor.

import { type Assignment, type Assignor, type AssignorInput, keyOf } from './assignor.ts'
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
function withholdTransfers({ members }: AssignorInput, { assignment, owned }: StickyResult): Assignment {
  const claims = members.map(member => new Set(member.ownedPartitions?.map(keyOf)))
  const settled: Assignment = new Map()
  for (const [memberId, partitions] of assignment) {
    const own = new Set(owned.get(memberId)!.map(keyOf))
    const others = claims.filter((_, place) => members[place].memberId !== memberId)
    const isFree = (key: string) => own.has(key) || !others.some(claim => claim.has(key))
    settled.set(
      memberId,
      partitions.filter(partition => isFree(keyOf(partition))),
    )
  }
  return settled
}
