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
    const watched = this.#watched.get(key) ?? { group, topic, partition, commits: [], isCommitted: false }
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
    const { cluster, machines } = this.#cluster
    for (const { id } of machines) {
      if (!this.#cluster.isCurrent(id)) continue
      const broker = cluster.broker(id)
      for (const watched of this.#watched.values()) {
        if (!watched.isCommitted) continue
        const index = broker.groups.partitionFor(watched.group)
        const decided = cluster.image.partition(CONSUMER_OFFSETS, index)
        const topicId = cluster.image.topicsByName.get(CONSUMER_OFFSETS)?.topicId ?? ''
        const believed = broker.replicas.find(topicId, index)
        if (decided?.leader !== id || believed?.leaderEpoch !== decided.leaderEpoch) continue
        const machine = broker.groups.machine(index)
        if (machine === undefined) continue
        this.#demand(watched, machine.offsets.get(watched.group, watched.topic, watched.partition)?.offset, id)
      }
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
