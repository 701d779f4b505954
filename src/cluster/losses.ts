import type { Later } from '../util/later.ts'
import type { Hub } from './hub.ts'
import type { LeaderEvent, Timeline } from './timeline.ts'
import type { PartitionName, Replicated, Witness } from './witness.ts'

/**
 * Finds out which acknowledged records a cluster has lost: somebody leads whose log does not reach the high watermark, or a leader that was
 * replaced without knowing goes on alone. It sees all brokers at once, as none of them does, tells the timeline, and changes nothing.
 */
export class Losses {
  readonly #hub: Hub
  readonly #timeline: Timeline
  /** By partition: what was replicated, as far as somebody who is gone knew. */
  readonly #watermarks = new Map<string, Replicated>()
  /** By partition without a leader: who led last, and may believe that it still does. */
  readonly #lastLeaders = new Map<string, number>()

  constructor(hub: Hub, timeline: Timeline) {
    this.#hub = hub
    this.#timeline = timeline
    timeline.listen(event => {
      if (event.type === 'leader') this.#changed(event)
    })
  }

  /** The records that were known of are gone on purpose: the cluster was put back. */
  forget(): void {
    this.#watermarks.clear()
    this.#lastLeaders.clear()
  }

  /** A broker is about to end, and with it what it knew of the partitions that it leads, or led last. */
  ending(brokerId: number): void {
    const names: string[] = []
    const partitions: PartitionName[] = []
    for (const topic of this.#hub.image.topicsByName.values()) {
      const { topicId } = topic
      for (const { partitionId, leader } of topic.partitions) {
        const name = `${topic.name}-${partitionId}`
        if ((leader < 0 ? this.#lastLeaders.get(name) : leader) !== brokerId) continue
        names.push(name)
        partitions.push({ topicId, partitionId })
      }
    }
    this.#witness(brokerId)
      ?.replicated(partitions)
      .whenSettled(found => {
        for (const [at, replicated] of found.entries()) this.#remember(names[at], replicated)
      })
  }

  #changed(event: LeaderEvent): void {
    const { leader } = event
    const key = `${event.topic}-${event.partition}`
    const before = event.before < 0 ? this.#lastLeaders.get(key) : event.before
    const partition = this.#partitionOf(event)
    if (partition === undefined) return
    if (leader < 0 && before !== undefined) this.#lastLeaders.set(key, before)
    const known = before === undefined ? undefined : this.#witness(before)?.replicated([partition])
    const elected = () => {
      if (leader >= 0) this.#elected(event, key, partition)
    }
    if (known === undefined) return elected()
    known.whenSettled(([replicated]) => {
      this.#remember(key, replicated)
      elected()
    })
  }

  /** Somebody leads: does it have what was replicated, and do those before know? */
  #elected(event: LeaderEvent, key: string, partition: PartitionName): void {
    const { topic, partition: index, leader, unclean } = event
    const had = this.#watermarks.get(key) ?? { offset: 0, runs: [] }
    const held: Later<Replicated | undefined> | undefined = this.#witness(leader)?.held(partition, had)
    held?.whenSettled(found => {
      if (found === undefined) return
      if (found.offset < had.offset) {
        this.#timeline.lost({ topic, partition: index, from: found.offset, to: had.offset, leader })
        this.#watermarks.set(key, found)
      }
      if (!unclean) return
      // A leader that nobody told goes on, and acknowledges what the new one will never have: the last one, or one before it.
      let from = Math.max(found.offset, had.offset)
      const told = (to: number) => {
        if (to <= from) return
        this.#timeline.lost({ topic, partition: index, from, to, leader })
        from = to
      }
      for (const brokerId of this.#hub.image.brokers.keys()) {
        if (brokerId === leader) continue
        this.#witness(brokerId)?.watch({ ...partition, untilLeaderEpoch: event.leaderEpoch }, told)
      }
    })
  }

  /** Keeps how far a leader knew that its records are replicated. */
  #remember(key: string, found: Replicated | undefined): void {
    if (found !== undefined && found.offset >= (this.#watermarks.get(key)?.offset ?? 0))
      this.#watermarks.set(key, found)
  }

  #partitionOf({ topic, partition: partitionId }: LeaderEvent): PartitionName | undefined {
    const topicId = this.#hub.image.topicsByName.get(topic)?.topicId
    return topicId === undefined ? undefined : { topicId, partitionId }
  }

  /** Whom one can ask, while the broker runs. */
  #witness(brokerId: number): Witness | undefined {
    const { isUp, peer } = this.#hub.place(brokerId)
    return isUp ? peer?.witness : undefined
  }
}
