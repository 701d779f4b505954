import type { Partition } from '../broker/partition.ts'
import type { Log } from '../log/log.ts'
import type { Cluster } from './cluster.ts'
import type { LeaderEvent, Timeline } from './timeline.ts'

interface Remembered {
  /** How far records were replicated. */
  readonly offset: number
  /** Under which leaders they were written: the same offsets under others are other records. */
  readonly runs: readonly Run[]
}

/** Records from `from` up to, and without, `to`, written in one epoch. */
interface Run {
  readonly epoch: number
  readonly from: number
  readonly to: number
}

/**
 * Finds out which acknowledged records a cluster has lost: somebody leads whose log does not reach the high watermark, or a leader that was
 * replaced without knowing goes on alone. It sees all brokers at once, as none of them does, tells the timeline, and changes nothing.
 */
export class Losses {
  readonly #cluster: Cluster
  readonly #timeline: Timeline
  /** By partition: what was replicated, as far as somebody who is gone knew. */
  readonly #watermarks = new Map<string, Remembered>()
  /** By partition without a leader: who led last, and may believe that it still does. */
  readonly #lastLeaders = new Map<string, number>()

  constructor(cluster: Cluster, timeline: Timeline) {
    this.#cluster = cluster
    this.#timeline = timeline
    timeline.listen(event => {
      if (event.type === 'leader') this.#changed(event)
    })
  }

  /** A broker is about to end, and with it what it knew of the partitions that it leads, or led last. */
  ending(brokerId: number): void {
    for (const { name, partitions } of this.#cluster.image.topicsByName.values()) {
      for (const { partitionId, leader } of partitions) {
        const last = leader < 0 ? this.#lastLeaders.get(`${name}-${partitionId}`) : leader
        if (last === brokerId) this.#remember(name, partitionId, brokerId)
      }
    }
  }

  #changed(event: LeaderEvent): void {
    const { topic, partition, leader } = event
    const key = `${topic}-${partition}`
    const before = event.before < 0 ? this.#lastLeaders.get(key) : event.before
    const old = before === undefined ? undefined : this.#remember(topic, partition, before)
    if (leader < 0) {
      if (before !== undefined) this.#lastLeaders.set(key, before)
      return
    }
    const log = this.#find(topic, partition, leader)
    if (log === undefined || !log.tryOpen()) return
    const { offset: to, runs } = this.#watermarks.get(key) ?? { offset: 0, runs: [] }
    const from = Math.min(log.log.logEndOffset, divergence(runs, log.log))
    if (from < to) {
      this.#timeline.lost({ topic, partition, from, to, leader })
      this.#watermarks.set(key, { offset: from, runs: runsOf(log.log, from) })
    }
    if (event.unclean && old !== undefined && before !== leader) this.#watch(old, event, Math.max(from, to))
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
    const log = found?.openedLog
    const before = this.#watermarks.get(key)?.offset ?? 0
    if (log !== undefined && log.highWatermark >= before) {
      this.#watermarks.set(key, { offset: log.highWatermark, runs: runsOf(log, log.highWatermark) })
    }
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

/** What a log has below `end`, by the epochs in which it was written. */
function runsOf(log: Log, end: number): Run[] {
  const runs: Run[] = []
  for (let from = log.logStartOffset; from < end; ) {
    const epoch = log.epochForOffset(from)
    if (epoch === undefined) break
    const to = Math.min(end, log.endOffsetForEpoch(epoch).endOffset)
    if (to <= from) break
    runs.push({ epoch, from, to })
    from = to
  }
  return runs
}

/** Where a log has no more of these records, though it may have others at their offsets. */
function divergence(runs: readonly Run[], log: Log): number {
  for (const { epoch, from, to } of runs) {
    if (to <= log.logStartOffset) continue
    if (log.epochForOffset(Math.max(from, log.logStartOffset)) !== epoch) return from
    const { endOffset } = log.endOffsetForEpoch(epoch)
    if (endOffset < to) return endOffset
  }
  return Number.POSITIVE_INFINITY
}
