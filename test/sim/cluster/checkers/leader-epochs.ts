/** In each leader epoch of a partition one broker leads: by what the controller decided, and by what brokers believe of themselves. */

import { type Checker, Violation } from '../../history.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

const NAME = 'leader epochs'

export class LeaderEpochs implements Checker {
  readonly name = NAME
  readonly #cluster: SimulatedCluster
  /** By partition and epoch: who leads. */
  readonly #leaders = new Map<string, number>()
  /** How far everybody knew the metadata when this was looked at. */
  readonly #known = new Map<object, number>()

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  step(): void {
    if (!this.#cluster.isMade) return
    const { cluster, machines } = this.#cluster
    // Who leads changes by metadata alone.
    let isNew = this.#learns(cluster)
    for (const { id } of machines) if (this.#learns(cluster.broker(id))) isNew = true
    if (!isNew) return
    for (const { name, topicId, partitions } of cluster.image.topicsById.values()) {
      for (const { partitionId, leader, leaderEpoch } of partitions) {
        this.#leads(`${name}-${partitionId}`, `${topicId}-${partitionId}`, leaderEpoch, leader)
      }
    }
    for (const { id } of machines) {
      if (!this.#cluster.isCurrent(id)) continue
      for (const { topic, index, key, isLeader, leaderEpoch } of cluster.broker(id).replicas.all()) {
        if (isLeader) this.#leads(`${topic}-${index}`, key, leaderEpoch, id)
      }
    }
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
