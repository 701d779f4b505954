import type { Partition } from '../broker/partition.ts'
import type { Cluster } from './cluster.ts'
import type { LeaderEvent, Timeline } from './timeline.ts'

/**
 * Finds out which acknowledged records a cluster has lost: somebody leads whose log does not reach the high watermark, or a leader that was
 * replaced without knowing goes on alone. It sees all brokers at once, as none of them does, tells the timeline, and changes nothing.
 */
export class Losses {
  readonly #cluster: Cluster
  readonly #timeline: Timeline
  /** By partition: how far records were replicated, as far as somebody who is gone knew. */
  readonly #watermarks = new Map<string, number>()

  constructor(cluster: Cluster, timeline: Timeline) {
    this.#cluster = cluster
    this.#timeline = timeline
    timeline.listen(event => {
      if (event.type === 'leader') this.#changed(event)
    })
  }

  /** A broker is about to end, and with it what it knew of the partitions that it leads. */
  ending(brokerId: number): void {
    for (const { name, partitions } of this.#cluster.image.topicsByName.values()) {
      for (const { partitionId, leader } of partitions) {
        if (leader === brokerId) this.#remember(name, partitionId, brokerId)
      }
    }
  }

  #changed(event: LeaderEvent): void {
    const { topic, partition, before, leader } = event
    const old = before < 0 ? undefined : this.#remember(topic, partition, before)
    if (leader < 0) return
    const log = this.#find(topic, partition, leader)
    if (log === undefined || !log.tryOpen()) return
    const from = log.log.logEndOffset
    const key = `${topic}-${partition}`
    const to = this.#watermarks.get(key) ?? 0
    if (from < to) {
      this.#timeline.lost({ topic, partition, from, to, leader })
      this.#watermarks.set(key, from)
    }
    if (event.unclean && old !== undefined) this.#watch(old, event, Math.max(from, to))
  }

  /** A leader that nobody told goes on, and has acknowledged what the new one will never have. */
  #watch(old: Partition, { topic, partition, leader }: LeaderEvent, since: number): void {
    let from = since
    const end = old.onHighWatermark(to => {
      if (!old.isLeader) return end()
      if (to <= from) return
      this.#timeline.lost({ topic, partition, from, to, leader })
      from = to
    })
  }

  /** Keeps how far a leader knew that its records are replicated, if it runs. */
  #remember(topic: string, partition: number, leader: number): Partition | undefined {
    const found = this.#find(topic, partition, leader)
    const key = `${topic}-${partition}`
    const known = found?.openedLog?.highWatermark ?? 0
    this.#watermarks.set(key, Math.max(known, this.#watermarks.get(key) ?? 0))
    return found
  }

  #find(topic: string, partition: number, brokerId: number): Partition | undefined {
    const node = this.#cluster.node(brokerId)
    const topicId = this.#cluster.image.topicsByName.get(topic)?.topicId
    if (!node.isUp || topicId === undefined) return undefined
    const found = node.broker.replicas.find(topicId, partition)
    return found === undefined || found.gone ? undefined : found
  }
}
