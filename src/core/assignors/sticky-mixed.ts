// The sticky algorithm for members with different subscriptions. Everybody keeps what it has, the rest goes to the least loaded
// subscriber, and then partitions move, one at a time, from a member to one that has at least two less. The result cannot be
// improved by one more move, but it need not be the best there is. Follows GeneralAssignmentBuilder in AbstractStickyAssignor.

import { type AssignorMember, compareStrings } from './assignor.ts'
import type { Claims, PartitionTable } from './claims.ts'
import type { Racks } from './racks.ts'

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
  racks?: Racks,
): number[][] {
  const deal = new MixedDeal(members, table, claims, racks)
  const revoked = deal.keepOwned()
  deal.balance(revoked)
  return deal.hands()
}

class MixedDeal {
  readonly #members: readonly AssignorMember[]
  readonly #table: PartitionTable
  readonly #claims: Claims
  readonly #racks: Racks | undefined
  /** Topic → the members (by place) that subscribe to it. */
  readonly #subscribers = new Map<string, number[]>()
  #owner: (number | undefined)[]
  #load: number[]
  readonly #movements = new Movements()

  constructor(members: readonly AssignorMember[], table: PartitionTable, claims: Claims, racks: Racks | undefined) {
    this.#members = members
    this.#table = table
    this.#claims = claims
    this.#racks = racks
    this.#owner = new Array(table.size).fill(undefined)
    this.#load = members.map(() => 0)
    for (const topic of table.topics) {
      const places = members.map((_, place) => place)
      this.#subscribers.set(
        topic,
        places.filter(place => members[place].topics.includes(topic)),
      )
    }
  }

  hands(): number[][] {
    const hands: number[][] = this.#members.map(() => [])
    for (const [index, owner] of this.#owner.entries()) if (owner !== undefined) hands[owner].push(index)
    return hands
  }

  /** Leaves members what they own; returns whether one had to lose something because of its subscription or its rack. */
  keepOwned(): boolean {
    let revoked = false
    for (const [member, owned] of this.#claims.owned.entries()) {
      for (const index of owned) {
        if (this.#subscribersOf(index).includes(member) && !this.#isFar(member, index)) this.#give(index, member)
        else revoked = true
      }
    }
    return revoked
  }

  balance(revoked: boolean): void {
    const fresh = this.#load.every(load => load === 0)
    const unassigned = this.#indexes().filter(index => this.#owner[index] === undefined)
    const assignTo = (index: number, candidates: number[]) => {
      if (candidates.length > 0) this.#give(index, this.#leastLoaded(candidates))
    }
    if (this.#racks) {
      for (const index of unassigned) {
        assignTo(
          index,
          this.#subscribersOf(index).filter(member => !this.#isFar(member, index)),
        )
      }
    }
    for (const index of unassigned) if (this.#owner[index] === undefined) assignTo(index, this.#subscribersOf(index))

    const movable = (index: number) => this.#subscribersOf(index).length > 1
    const before = { owner: [...this.#owner], load: [...this.#load], imbalance: this.#imbalance() }
    // As long as nobody has to lose something anyway, moving what is new hurts nobody.
    if (!revoked) this.#improve(unassigned.filter(movable))
    const moved = this.#improve(this.#indexes().filter(movable))
    if (moved && !fresh && this.#imbalance() >= before.imbalance) {
      this.#owner = before.owner
      this.#load = before.load
    }
  }

  /** Moves partitions as long as one can go to a member that has at least two less; returns whether one did. */
  #improve(indexes: readonly number[]): boolean {
    let everMoved = false
    let moved: boolean
    do {
      moved = false
      for (const index of indexes) {
        const to = this.#betterOwner(index)
        if (to === undefined) continue
        this.#move(index, to)
        moved = true
      }
      everMoved ||= moved
    } while (moved)
    return everMoved
  }

  #betterOwner(index: number): number | undefined {
    const from = this.#owner[index]!
    const lighter = (member: number) => this.#load[from] > this.#load[member] + 1
    const candidates = this.#subscribersOf(index).filter(lighter)
    const previous = this.#claims.previousOwner.get(index)
    const back = candidates.find(member => this.#members[member] === previous)
    if (back !== undefined || candidates.length === 0) return back
    // Kafka does not look at racks here: balance has priority.
    return this.#leastLoaded(candidates)
  }

  /** Instead of moving a partition from A to B when another of its topic just went from B to A, that one goes back. */
  #move(wanted: number, to: number): void {
    const index = this.#movements.instead(wanted, this.#table.topicOf[wanted], this.#owner[wanted]!, to)
    const from = this.#owner[index]!
    this.#movements.record(index, this.#table.topicOf[index], from, to)
    this.#load[from]--
    this.#give(index, to)
  }

  #give(index: number, member: number): void {
    this.#owner[index] = member
    this.#load[member]++
  }

  #leastLoaded(candidates: readonly number[]): number {
    return candidates.reduce((best, member) => (this.#load[member] < this.#load[best] ? member : best))
  }

  /** The sum of the differences between the loads of all pairs. */
  #imbalance(): number {
    let sum = 0
    for (const a of this.#load) for (const b of this.#load) sum += Math.abs(a - b) / 2
    return sum
  }

  #indexes(): number[] {
    return this.#owner.map((_, index) => index)
  }

  #subscribersOf(index: number): number[] {
    return this.#subscribers.get(this.#table.topicOf[index])!
  }

  #isFar(member: number, index: number): boolean {
    return !!this.#racks?.far(this.#members[member], this.#table.topicOf[index], this.#table.numberOf[index])
  }
}

interface Movement {
  topic: string
  from: number
  to: number
}

/** Which partitions moved from where to where since the start; two members must not swap partitions of one topic. */
class Movements {
  readonly #of = new Map<number, Movement>()

  instead(wanted: number, topic: string, owner: number, to: number): number {
    const from = this.#of.get(wanted)?.from ?? owner
    for (const [index, movement] of this.#of) {
      if (movement.topic === topic && movement.from === to && movement.to === from) return index
    }
    return wanted
  }

  record(index: number, topic: string, from: number, to: number): void {
    const origin = this.#of.get(index)?.from ?? from
    if (origin === to) this.#of.delete(index)
    else this.#of.set(index, { topic, from: origin, to })
  }
}
