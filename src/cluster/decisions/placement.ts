import type { BrokerImage } from '../../broker/metadata/image.ts'
import { KafkaError } from '../../protocol/errors.ts'

/**
 * Chooses the replicas of new partitions (Kafka's `StripedReplicaPlacer`): leaders go round the racks and within each round its brokers,
 * followers lie on other racks as far as there are others, and on brokers that are fenced only where no other is left.
 */

export interface PlacementOptions {
  /** All that are registered. */
  readonly brokers: readonly Pick<BrokerImage, 'brokerId' | 'rack' | 'fenced'>[]
  readonly count: number
  readonly replicationFactor: number
  readonly random: () => number
}

export function placePartitions({ brokers, count, replicationFactor, random }: PlacementOptions): number[][] {
  const racks = new RackList(brokers, random)
  if (replicationFactor > brokers.length) {
    throw new KafkaError(
      'INVALID_REPLICATION_FACTOR',
      `Unable to replicate the partition ${replicationFactor} time(s): The target replication factor of ${replicationFactor} ` +
        `cannot be reached because only ${brokers.length} broker(s) are registered or some brokers have all their log directories cordoned.`,
    )
  }
  if (racks.unfenced === 0) {
    throw new KafkaError(
      'INVALID_REPLICATION_FACTOR',
      `Unable to replicate the partition ${replicationFactor} time(s): All brokers are currently fenced.`,
    )
  }
  return Array.from({ length: count }, () => racks.place(replicationFactor))
}

/** The brokers of a rack that are fenced, or those that are not: each once per round, beginning one further in each. */
class BrokerList {
  readonly #brokers: number[]
  #round = 0
  #index = 0
  #offset = 0

  constructor(brokers: number[]) {
    this.#brokers = brokers
  }

  shuffle(random: () => number): void {
    shuffle(this.#brokers, random)
    this.#round = 0
    this.#index = 0
    this.#offset = this.#brokers.length === 0 ? 0 : Math.floor(random() * this.#brokers.length)
  }

  /** The next broker of this round, or undefined when all had their turn. */
  next(round: number): number | undefined {
    const { length } = this.#brokers
    if (length === 0) return undefined
    if (this.#round !== round) {
      this.#round = round
      this.#index = 0
      this.#offset = (this.#offset + 1) % length
    }
    if (this.#index >= length) return undefined
    return this.#brokers[(this.#index++ + this.#offset) % length]
  }
}

interface Rack {
  readonly unfenced: BrokerList
  readonly fenced: BrokerList
}

class RackList {
  /** How many brokers are not fenced. */
  readonly unfenced: number
  readonly #racks: Rack[]
  readonly #random: () => number
  #round = 0
  #offset = 0

  constructor(brokers: PlacementOptions['brokers'], random: () => number) {
    const byRack = new Map<string | null, { unfenced: number[]; fenced: number[] }>()
    for (const { brokerId, rack, fenced } of brokers) {
      const found = byRack.get(rack) ?? { unfenced: [], fenced: [] }
      byRack.set(rack, found)
      found[fenced ? 'fenced' : 'unfenced'].push(brokerId)
    }
    this.unfenced = brokers.filter(({ fenced }) => !fenced).length
    this.#random = random
    this.#racks = [...byRack.values()].map(({ unfenced, fenced }) => ({
      unfenced: new BrokerList(unfenced.toSorted((a, b) => a - b)),
      fenced: new BrokerList(fenced.toSorted((a, b) => a - b)),
    }))
    this.#shuffle()
  }

  #shuffle(): void {
    for (const { unfenced, fenced } of this.#racks) {
      unfenced.shuffle(this.#random)
      fenced.shuffle(this.#random)
    }
    shuffle(this.#racks, this.#random)
  }

  place(replicationFactor: number): number[] {
    // Once every broker has led, the order changes, so that the same sets of replicas do not come again and again.
    if (this.#round === this.unfenced && this.unfenced > 1) {
      this.#shuffle()
      this.#round = 0
    }
    const racks = this.#racks
    if (this.#offset === racks.length) this.#offset = 0
    const placed: number[] = []
    let first = this.#offset
    for (; placed.length === 0; first = (first + 1) % racks.length) {
      const leader = racks[first].unfenced.next(this.#round)
      if (leader !== undefined) placed.push(leader)
      if (placed.length > 0) break
    }
    let passed = false
    for (let index = this.#offset; placed.length < replicationFactor; index = (index + 1) % racks.length) {
      // The leader's rack has had its turn in this round.
      if (index === first && !passed) {
        passed = true
        continue
      }
      const { unfenced, fenced } = racks[index]
      const follower = unfenced.next(this.#round) ?? fenced.next(this.#round)
      if (follower !== undefined) placed.push(follower)
    }
    this.#round++
    this.#offset++
    return placed
  }
}

function shuffle(list: unknown[], random: () => number): void {
  for (let index = list.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    ;[list[index], list[other]] = [list[other], list[index]]
  }
}

/** What is wrong with the replicas of one partition, or undefined. */
export function checkReplicas(
  replicas: readonly number[],
  expected: number,
  exists: (id: number) => boolean,
): string | undefined {
  if (replicas.length === 0) return 'The manual partition assignment includes an empty replica list.'
  const unknown = replicas.find(id => !exists(id))
  if (unknown !== undefined) {
    return `The manual partition assignment includes broker ${unknown}, but no such broker is registered.`
  }
  const twice = replicas.find((id, at) => replicas.indexOf(id) !== at)
  if (twice !== undefined) return `The manual partition assignment includes the broker ${twice} more than once.`
  if (replicas.length !== expected) {
    return `The manual partition assignment includes a partition with ${replicas.length} replica(s), but another has ${expected}.`
  }
  return undefined
}
