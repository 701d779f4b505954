// The sticky algorithm for members that all subscribe to the same topics. Everybody gets the same number of partitions, some one
// more, and keeps as much of its own as that allows; no balanced result moves less. Mixed subscriptions: see sticky-mixed.ts.
// Follows ConstrainedAssignmentBuilder in AbstractStickyAssignor, without its exceptions (the file claims.ts says which).

import type { AssignorMember } from './assignor.ts'
import type { PartitionTable } from './claims.ts'
import type { Racks } from './racks.ts'

/**
 * Deals the partitions of `table` to `members` (sorted by id); `owned[i]` is what member i had. `racks` is absent where racks make
 * no difference. Returns the new lists in the order of the members.
 */
export function dealEqually(
  members: readonly AssignorMember[],
  table: PartitionTable,
  owned: readonly number[][],
  racks?: Racks,
): number[][] {
  const deal = new EqualDeal(members, table, racks)
  deal.keepOwned(owned)
  const left = deal.unassigned()
  deal.fill(racks ? deal.fillNear(left) : left)
  return deal.hands
}

class EqualDeal {
  readonly hands: number[][]
  readonly #members: readonly AssignorMember[]
  readonly #table: PartitionTable
  readonly #racks: Racks | undefined
  /** What everybody gets, and how many members get one more. */
  readonly #share: number
  #extras: number
  /** Members below their share, and members that have just their share and may become one of those with one more. */
  #below: number[] = []
  #level: number[] = []

  constructor(members: readonly AssignorMember[], table: PartitionTable, racks: Racks | undefined) {
    this.#members = members
    this.#table = table
    this.#racks = racks
    this.hands = members.map(() => [])
    this.#share = Math.floor(table.size / members.length)
    this.#extras = table.size % members.length
  }

  /** Leaves members what they own, up to the share; those who own more may keep one more while there are extras. */
  keepOwned(owned: readonly number[][]): void {
    for (const [member, mine] of owned.entries()) {
      const own = mine.filter(index => !this.#isFar(member, index))
      const extra = own.length > this.#share && this.#extras > 0
      if (extra) this.#extras--
      this.hands[member] = own.slice(0, this.#share + (extra ? 1 : 0))
      if (own.length < this.#share) this.#below.push(member)
      else if (!extra) this.#level.push(member)
    }
  }

  unassigned(): number[] {
    const kept = new Set(this.hands.flat())
    return Array.from({ length: this.#table.size }, (_, index) => index).filter(index => !kept.has(index))
  }

  /** Deals what is near to a member with room; first the partitions that few members are near to. Returns the rest. */
  fillNear(indexes: number[]): number[] {
    const rest: number[] = []
    let turn = 0
    for (const index of this.#fewestNearFirst(indexes)) {
      const place = this.#nextNear(index, this.#below, turn)
      if (place >= 0) {
        const filled = this.#giveBelow(place, index)
        const next = filled ? place : place + 1
        turn = this.#below.length === 0 ? 0 : next % this.#below.length
        continue
      }
      const level = this.#extras > 0 ? this.#nextNear(index, this.#level, 0) : -1
      if (level >= 0) this.#giveLevel(level, index)
      else rest.push(index)
    }
    return rest
  }

  /** Deals the partitions in a circle over those below their share, and then one each to the others in line. */
  fill(indexes: number[]): void {
    let turn = 0
    for (const index of indexes) {
      if (this.#below.length === 0) {
        this.#giveLevel(0, index)
        continue
      }
      if (turn >= this.#below.length) turn = 0
      if (!this.#giveBelow(turn, index)) turn++
    }
  }

  /** Returns whether the member reached its share, and so left the line of those below it. */
  #giveBelow(place: number, index: number): boolean {
    const member = this.#below[place]
    this.hands[member].push(index)
    if (this.hands[member].length < this.#share) return false
    this.#below.splice(place, 1)
    this.#level.push(member)
    return true
  }

  #giveLevel(place: number, index: number): void {
    const [member] = this.#level.splice(place, 1)
    this.hands[member].push(index)
    this.#extras--
  }

  #isFar(member: number, index: number): boolean {
    return !!this.#racks?.far(this.#members[member], this.#table.topicOf[index], this.#table.numberOf[index])
  }

  #isNear(member: number, index: number): boolean {
    return !!this.#racks?.near(this.#members[member], this.#table.topicOf[index], this.#table.numberOf[index])
  }

  #nextNear(index: number, line: number[], from: number): number {
    for (let i = 0; i < line.length; i++) {
      const place = (from + i) % line.length
      if (this.#isNear(line[place], index)) return place
    }
    return -1
  }

  #fewestNearFirst(indexes: number[]): number[] {
    const near = (index: number) => this.#members.filter((_, member) => this.#isNear(member, index)).length
    return indexes
      .map(index => ({ index, near: near(index) }))
      .sort((a, b) => a.near - b.near)
      .map(entry => entry.index)
  }
}
