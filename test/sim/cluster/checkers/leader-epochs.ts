/**
 * In each leader epoch of a partition one broker leads: by what the controller decided, and by what brokers believe of themselves. Epochs
 * never go back, whether the controller ends and begins anew or not, and what it had decided it knows again then.
 */

import { type Checker, Violation } from '../../history.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

const NAME = 'leader epochs'

export class LeaderEpochs implements Checker {
  readonly name = NAME
  readonly #cluster: SimulatedCluster
  /** By partition and epoch: who leads. */
  readonly #leaders = new Map<string, number>()
  /** By partition: the epoch that the controller decided last. Nobody deletes topics here. */
  #epochs: ReadonlyMap<string, number> = new Map()
  /** How far everybody knew the metadata when this was looked at. */
  readonly #known = new Map<object, number>()

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  step(): void {
    if (!this.#cluster.isMade) return
    const { cluster, machines } = this.#cluster
    // Who leads changes by metadata alone.
    if (this.#cluster.isDecided && this.#learns(cluster)) this.#decided()
    let isNew = false
    for (const { id } of machines) if (this.#learns(cluster.broker(id))) isNew = true
    if (!isNew) return
    for (const { id } of machines) {
      if (!this.#cluster.isCurrent(id)) continue
      for (const { topic, index, key, isLeader, leaderEpoch } of cluster.broker(id).replicas.all()) {
        if (isLeader) this.#leads(`${topic}-${index}`, key, leaderEpoch, id)
      }
    }
  }

  /** What the controller has not brought to its disk yet was told to nobody, and may never have been; all else stays. */
  #decided(): void {
    const epochs = new Map<string, number>()
    for (const { name, topicId, partitions } of this.#cluster.cluster.image.topicsById.values()) {
      for (const { partitionId, leader, leaderEpoch } of partitions) {
        const key = `${topicId}-${partitionId}`
        this.#leads(`${name}-${partitionId}`, key, leaderEpoch, leader)
        epochs.set(key, leaderEpoch)
      }
    }
    for (const [key, before] of this.#epochs) {
      const epoch = epochs.get(key)
      if (epoch === undefined) throw new Violation(NAME, `the controller knows nothing of ${key} any more`)
      if (epoch < before) throw new Violation(NAME, `${key} was in epoch ${before}, and is in epoch ${epoch}`)
    }
    this.#epochs = epochs
  }

  /** True when it knows other metadata than the last time. */
  #learns(who: { readonly metadataOffset: number }): boolean {
    const { metadataOffset } = who
    if (this.#known.get(who) === metadataOffset) return false
    this.#known.set(who, metadataOffset)
    return true
  }

  #leads(partition: string, key: string, epoch: number, leader: number): void {
    if (leader < 0) return
    const known = this.#leaders.get(`${key} ${epoch}`)
    if (known === undefined) this.#leaders.set(`${key} ${epoch}`, leader)
    else if (known !== leader) {
      throw new Violation(NAME, `${partition} is led by ${known} and by ${leader} in epoch ${epoch}`)
    }
  }
}
