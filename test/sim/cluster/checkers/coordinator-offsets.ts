/**
 * What a group has committed stays committed, whoever coordinates it: a coordinator that leads has what was acknowledged last, or
 * something that was committed after that, and never something older.
 */

import { CONSUMER_OFFSETS } from '../../../../src/broker/internal-topics.ts'
import { type Checker, type HistoryEvent, Violation } from '../../history.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

const NAME = 'coordinator offsets'

interface Commit {
  readonly offset: number
  readonly asked: number
  /** When it was acknowledged; undefined while it is not known what became of it. */
  acknowledged: number | undefined
}

interface Watched {
  readonly group: string
  readonly topic: string
  readonly partition: number
  /** What a coordinator may have. */
  commits: Commit[]
  /** One of them was acknowledged. */
  isCommitted: boolean
  /** Of `__consumer_offsets`, once somebody asked. */
  index: number | undefined
}

export class CoordinatorOffsets implements Checker {
  readonly name = NAME
  readonly #cluster: SimulatedCluster
  readonly #isExcused: (groupId: string) => boolean
  readonly #watched = new Map<string, Watched>()
  /** Counts commits and acknowledgements. */
  #clock = 0

  constructor(cluster: SimulatedCluster, isExcused: (groupId: string) => boolean) {
    this.#cluster = cluster
    this.#isExcused = isExcused
  }

  event(event: HistoryEvent): void {
    if (event.type !== 'committing' && event.type !== 'committed') return
    const { group, topic, partition, offset } = event
    const key = `${group} ${topic}-${partition}`
    const watched = this.#watched.get(key) ?? {
      group,
      topic,
      partition,
      commits: [],
      isCommitted: false,
      index: undefined,
    }
    this.#watched.set(key, watched)
    const now = ++this.#clock
    if (event.type === 'committing') {
      watched.commits.push({ offset, asked: now, acknowledged: undefined })
      return
    }
    // Of two that say the same nobody knows which was acknowledged: the first leaves more open.
    const commit = watched.commits.find(each => each.offset === offset && each.acknowledged === undefined)
    if (commit === undefined) return
    watched.isCommitted = true
    commit.acknowledged = now
    // What had been acknowledged before this one was asked for is past.
    watched.commits = watched.commits.filter(({ acknowledged }) => (acknowledged ?? now) > commit.asked)
  }

  step(): void {
    if (!this.#cluster.isMade) return
    const { cluster } = this.#cluster
    const topic = cluster.image.topicsByName.get(CONSUMER_OFFSETS)
    if (topic === undefined) return
    for (const watched of this.#watched.values()) {
      if (!watched.isCommitted) continue
      watched.index ??= cluster.brokers[0].groups.partitionFor(watched.group)
      const { index } = watched
      const decided = topic.partitions[index]
      if (decided.leader < 0 || !this.#cluster.isCurrent(decided.leader)) continue
      const broker = cluster.broker(decided.leader)
      if (broker.replicas.find(topic.topicId, index)?.leaderEpoch !== decided.leaderEpoch) continue
      const machine = broker.groups.machine(index)
      if (machine === undefined) continue
      this.#demand(watched, machine.offsets.get(watched.group, watched.topic, watched.partition)?.offset, broker.id)
    }
  }

  #demand({ group, topic, partition, commits }: Watched, offset: number | undefined, id: number): void {
    if (commits.some(commit => commit.offset === offset) || this.#isExcused(group)) return
    const allowed = commits.map(commit => commit.offset).join(' or ')
    throw new Violation(
      NAME,
      `broker ${id} has ${group} at ${topic}-${partition} ${offset}, which was to be ${allowed}`,
    )
  }
}
