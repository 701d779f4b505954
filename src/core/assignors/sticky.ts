// The sticky assignor: balance first, then everybody keeps as much as possible. This is the eager one: members give up everything
// before they rejoin, and a partition may change its owner in one round. The cooperative one builds on the same deal.
// Follows StickyAssignor and AbstractStickyAssignor (KIP-54, KIP-341, KIP-881).

import {
  type Assignment,
  type Assignor,
  type AssignorInput,
  type AssignorMember,
  assignableTopics,
  inMemberIdOrder,
  sorted,
} from './assignor.ts'
import { PartitionTable, type SettleBy, settleClaims } from './claims.ts'
import { nearnessOf } from './racks.ts'
import { dealEqually } from './sticky-equal.ts'
import { dealMixed, scarceFirst } from './sticky-mixed.ts'

/** `sticky`. */
export const stickyAssignor: Assignor = {
  name: 'sticky',
  rebalanceProtocol: 'eager',
  assign: input => assignSticky(input, 'lastMember').assignment,
}

export interface StickyResult {
  assignment: Assignment
  /** What counts as each member's own until now. */
  owned: Assignment
}

/** The balanced assignment with few moves, before anything is withheld. */
export function assignSticky(input: AssignorInput, settleBy: SettleBy): StickyResult {
  const members = inMemberIdOrder(input.members)
  const topics = assignableTopics(input)
  const equal = subscribeAlike(members)
  const table = new PartitionTable(equal ? topics : scarceFirst(topics, members), input.partitions)
  const claims = settleClaims(members, table, settleBy)
  const nearness = nearnessOf(members, table.partitions, input.racks)
  const hands = equal ? dealEqually(table, claims.owned, nearness) : dealMixed(members, table, claims, nearness)
  const named = (lists: number[][]) => {
    const copy = (index: number) => ({ ...table.partitions[index] })
    return sorted(new Map(members.map((member, place) => [member.memberId, lists[place].map(copy)])))
  }
  // With mixed subscriptions every claim counts, contradicting ones too: Kafka compares the result with what members said.
  const claimed = members.map(member => table.indexesOf(member.ownedPartitions ?? []))
  return { assignment: named(hands), owned: named(equal ? claims.owned : claimed) }
}

function subscribeAlike(members: readonly AssignorMember[]): boolean {
  const subscriptions = members.map(member => JSON.stringify([...new Set(member.topics)].sort()))
  return new Set(subscriptions).size <= 1
}
