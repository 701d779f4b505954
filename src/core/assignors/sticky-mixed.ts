// The sticky algorithm for members with different subscriptions. Everybody keeps what it has, the rest goes to the least loaded
// subscriber, and then partitions move, one at a time, from a member to one that has at least two less. The result cannot be
// improved by one more move, but it need not be the best there is. Follows GeneralAssignmentBuilder in AbstractStickyAssignor.

import { type AssignorMember, compareStrings } from './assignor.ts'
import type { Claims, PartitionTable } from './claims.ts'
import type { Nearness } from './racks.ts'

/** Topics that few members subscribe to come first: their partitions have the least choice. */
export function scarceFirst(topics: readonly string[], members: readonly AssignorMember[]): string[] {
  const subscribers = (topic: string) => members.filter(member => member.topics.includes(topic)).length
  return [...topics].sort((a, b) => subscribers(a) - subscribers(b) || compareStrings(a, b))
}

/** As `dealEqually`, for members of whom some do not subscribe to all topics. `table` has its topics in `scarceFirst` order. */
export function dealMixed(
  members: readonly AssignorMember[],
  table: PartitionTable,
  claims: Claims,
  { isFar }: Nearness,
): number[][] {
  const deal = new MixedDeal(members, table, claims)
  const mayHave: MayHave = (member, index) => !isFar(member, index)
  const revoked = deal.keepOwned(mayHave)
  deal.balance(revoked, mayHave)
  return deal.hands()
}

/** Whether a member (by its place) may have a partition (by its number). */
type MayHave = (member: number, index: number) => boolean

class MixedDeal {
  readonly #members: readonly AssignorMember[]
  readonly #table: PartitionTable
  readonly #claims: Claims
  /** Per partition: the places of the members that subscribe to its topic. */
  readonly #subscribers: readonly number[][]
  /** Per partition: the place of the member that gets it. */
  #owner: (number | undefined)[]
  /** Per member: how many partitions it gets. */
  #load: number[]
  /** Where a partition that moved came from. */
  readonly #origin = new Map<number, number>()

  constructor(members: readonly AssignorMember[], table: PartitionTable, claims: Claims) {
    this.#members = members
    this.#table = table
    this.#claims = claims
    const subscribersOf = new Map<string, number[]>()
    for (const [place, member] of members.entries()) {
      for (const topic of new Set(member.topics)) {
        subscribersOf.set(topic, [...(subscribersOf.get(topic) ?? []), place])
      }
    }
    this.#subscribers = table.partitions.map(({ topic }) => subscribersOf.get(topic)!)
    this.#owner = table.partitions.map(() => undefined)
    this.#load = members.map(() => 0)
  }

  hands(): number[][] {
    const hands: number[][] = this.#members.map(() => [])
    for (const [index, owner] of this.#owner.entries()) hands[owner!].push(index)
    return hands
  }

  /** Leaves members what they own; returns whether one had to lose something because of its subscription or its rack. */
  keepOwned(mayHave: MayHave): boolean {
    let revoked = false
    for (const [member, owned] of this.#claims.owned.entries()) {
      for (const index of owned) {
        if (this.#subscribers[index].includes(member) && mayHave(member, index)) this.#give(index, member)
        else revoked = true
      }
    }
    return revoked
  }

  balance(revoked: boolean, mayHave: MayHave): void {
    const fresh = this.#load.every(load => load === 0)
    const all = [...this.#owner.keys()]
    const unassigned = all.filter(index => this.#owner[index] === undefined)
    this.#assign(unassigned, mayHave)
    this.#assign(unassigned, () => true)

    const movable = (index: number) => this.#subscribers[index].length > 1
    const before = { owner: [...this.#owner], load: [...this.#load] }
    // As long as nobody has to lose something anyway, moving what is new hurts nobody.
    if (!revoked) this.#improve(unassigned.filter(movable))
    const moved = this.#improve(all.filter(movable))
    if (moved && !fresh && imbalance(this.#load) >= imbalance(before.load)) {
      this.#owner = before.owner
      this.#load = before.load
    }
  }

  /** Gives what has no owner yet to the least loaded subscriber that may have it. */
  #assign(indexes: readonly number[], mayHave: MayHave): void {
    for (const index of indexes) {
      if (this.#owner[index] !== undefined) continue
      const candidates = this.#subscribers[index].filter(member => mayHave(member, index))
      if (candidates.length > 0) this.#give(index, this.#leastLoaded(candidates))
    }
  }

  /** Moves partitions as long as one can go to a member that has at least two less; returns whether one did. */
  #improve(indexes: readonly number[]): boolean {
    for (let everMoved = false; ; everMoved = true) {
      let moved = false
      for (const index of indexes) {
        const to = this.#betterOwner(index)
        if (to === undefined) continue
        this.#move(index, to)
        moved = true
      }
      if (!moved) return everMoved
    }
  }

  /** The owner of old if it has at least two less, or else the least loaded; Kafka does not look at racks here. */
  #betterOwner(index: number): number | undefined {
    const load = this.#load[this.#owner[index]!]
    const candidates = this.#subscribers[index].filter(member => this.#load[member] + 1 < load)
    if (candidates.length === 0) return undefined
    const previous = this.#claims.previousClaim.get(index)?.member
    return candidates.find(member => this.#members[member] === previous) ?? this.#leastLoaded(candidates)
  }

  /** Instead of moving a partition from A to B when another of its topic just went from B to A, that one goes back. */
  #move(wanted: number, to: number): void {
    const origin = (index: number) => this.#origin.get(index) ?? this.#owner[index]!
    const goesBack = (index: number) =>
      this.#table.partitions[index].topic === this.#table.partitions[wanted].topic &&
      origin(index) === to &&
      this.#owner[index] === origin(wanted)
    const index = [...this.#origin.keys()].find(goesBack) ?? wanted
    const from = origin(index)
    this.#load[this.#owner[index]!]--
    this.#give(index, to)
    if (from === to) this.#origin.delete(index)
    else this.#origin.set(index, from)
  }

  #give(index: number, member: number): void {
    this.#owner[index] = member
    this.#load[member]++
  }

  #leastLoaded(candidates: readonly number[]): number {
    return candidates.reduce((best, member) => (this.#load[member] < this.#load[best] ? member : best))
  }
}

/** The sum of the differences between the loads of all pairs, each pair twice. */
function imbalance(loads: readonly number[]): number {
  return loads.flatMap(a => loads.map(b => Math.abs(a - b))).reduce((sum, difference) => sum + difference, 0)
}
