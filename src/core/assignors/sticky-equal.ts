// The sticky algorithm for members that all subscribe to the same topics. Everybody gets the same number of partitions, some one
// more, and keeps as much of its own as that allows; no balanced result moves less. Mixed subscriptions: see sticky-mixed.ts.
// Follows ConstrainedAssignmentBuilder in AbstractStickyAssignor, without its exceptions (the file claims.ts says which).

import type { PartitionTable } from './claims.ts'
import type { Nearness } from './racks.ts'

/**
 * Deals the partitions of `table`; `owned[i]` is what the i-th member had. Returns the new lists in the same order.
 */
export function dealEqually(
  table: PartitionTable,
  owned: readonly number[][],
  { isNear, isFar }: Nearness,
): number[][] {
  const deal = new EqualDeal(table.partitions.length, owned.length)
  deal.keepOwned(owned.map((mine, member) => mine.filter(index => !isFar(member, index))))
  const kept = new Set(deal.hands.flat())
  const unassigned = [...table.partitions.keys()].filter(index => !kept.has(index))
  // First what is near to somebody, and of that what is near to few.
  const isNearTo = (index: number) => deal.hands.filter((_, member) => isNear(member, index)).length
  const choices = new Map(unassigned.map(index => [index, isNearTo(index)]))
  unassigned.sort((a, b) => choices.get(a)! - choices.get(b)!)
  deal.fill(deal.fill(unassigned, isNear), () => true)
  return deal.hands
}

class EqualDeal {
  readonly hands: number[][]
  /** What everybody gets, and how many members get one more. */
  readonly #share: number
  #extras: number
  /** Members below their share, and members that have just their share and may become one of those with one more. */
  readonly #below: number[] = []
  readonly #level: number[] = []

  constructor(partitions: number, members: number) {
    this.hands = Array.from({ length: members }, () => [])
    this.#share = Math.floor(partitions / members)
    this.#extras = partitions % members
  }

  /** Leaves members what they own, up to the share; those who own more may keep one more while there are extras. */
  keepOwned(owned: readonly number[][]): void {
    for (const [member, own] of owned.entries()) {
      const extra = own.length > this.#share && this.#extras > 0 ? 1 : 0
      this.#extras -= extra
      this.hands[member] = own.slice(0, this.#share + extra)
      if (own.length < this.#share) this.#below.push(member)
      else if (!extra) this.#level.push(member)
    }
  }

  /**
   * Deals partitions in a circle over those below their share who may have them, or else one each to the others in line. Returns what nobody
   * could take.
   */
  fill(indexes: readonly number[], mayHave: (member: number, index: number) => boolean): number[] {
    let turn = 0
    return indexes.filter(index => {
      const circle = [...this.#below.slice(turn), ...this.#below.slice(0, turn)]
      const member = circle.find(candidate => mayHave(candidate, index))
      if (member !== undefined) {
        turn = this.#below.indexOf(member)
        if (!this.#giveBelow(member, index)) turn++
        if (turn >= this.#below.length) turn = 0
        return false
      }
      const next = this.#extras > 0 ? this.#level.find(candidate => mayHave(candidate, index)) : undefined
      if (next !== undefined) this.#giveLevel(next, index)
      return next === undefined
    })
  }

  /** Returns whether the member reached its share, and so left the circle. */
  #giveBelow(member: number, index: number): boolean {
    this.hands[member].push(index)
    if (this.hands[member].length < this.#share) return false
    this.#below.splice(this.#below.indexOf(member), 1)
    this.#level.push(member)
    return true
  }

  #giveLevel(member: number, index: number): void {
    this.hands[member].push(index)
    this.#level.splice(this.#level.indexOf(member), 1)
    this.#extras--
  }
}
