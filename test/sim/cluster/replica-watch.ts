/**
 * Says after each event of which partitions anything has changed: a log on a broker that lives, who lives, or what the controller
 * decided. Checkers that look at replicas look at these alone. It judges nothing.
 */

import type { Partition } from '../../../src/broker/partition.ts'
import type { Checker } from '../history.ts'
import { SeenBroker } from '../seen-replica.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

export class ReplicaWatch implements Checker {
  readonly name = 'replica watch'
  /** By key, one of the replicas each. */
  readonly changed = new Map<string, Partition>()
  /** All that there ever were. */
  readonly #known = new Map<string, Partition>()
  readonly #cluster: SimulatedCluster
  readonly #brokers = new Map<number, SeenBroker>()
  /** How far the controller's metadata went. */
  #metadataOffset = -1

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  /** It comes before all checkers that ask it. */
  step(): void {
    this.changed.clear()
    if (!this.#cluster.isMade) return
    const { cluster, machines } = this.#cluster
    for (const { id } of machines) {
      let seen = this.#brokers.get(id)
      if (seen === undefined) {
        seen = new SeenBroker()
        this.#brokers.set(id, seen)
      }
      seen.look(this.#cluster.isCurrent(id) ? cluster.broker(id) : undefined, this.#note)
    }
    if (cluster.metadataOffset === this.#metadataOffset) return
    this.#metadataOffset = cluster.metadataOffset
    for (const partition of this.#known.values()) this.#note(partition)
  }

  /** What a checker knows of it has changed. */
  lookAgain(key: string): void {
    for (const seen of this.#brokers.values()) seen.lookAgain(key)
  }

  readonly #note = (partition: Partition): void => {
    this.changed.set(partition.key, partition)
    this.#known.set(partition.key, partition)
  }
}
