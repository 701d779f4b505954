import type { Broker } from '../broker/broker.ts'
import type { Partition } from '../broker/partition.ts'
import type { Log } from '../log/log.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'

/**
 * What a broker knows of how far its partitions are replicated, for an onlooker who sees all brokers at once, see losses.ts. The moment that
 * counts is that of the call: what it finds is told later, as the broker may run in another thread.
 */
export interface Witness {
  /** For each partition how far the broker knows its records to be replicated; undefined where it has opened no log. */
  replicated(partitions: readonly PartitionName[]): Later<(Replicated | undefined)[]>
  /** How far the broker's log goes without having others than these records. Undefined when it cannot open its log, or is not let in yet. */
  held(partition: PartitionName, had: Replicated): Later<Replicated | undefined>
  /**
   * Calls `told` with the high watermark, now and whenever it moves, while the broker believes that it leads: as long as it has not heard of the
   * leader epoch that is named. It may hear that it leads only now.
   */
  watch(partition: WatchedPartition, told: (highWatermark: number) => void): void
}

export interface PartitionName {
  readonly topicId: string
  readonly partitionId: number
}

export interface WatchedPartition extends PartitionName {
  readonly untilLeaderEpoch: number
}

/** Records below an offset, and under which leaders they were written: the same offsets under others are other records. */
export interface Replicated {
  readonly offset: number
  readonly runs: readonly Run[]
}

/** Records from `from` up to, and without, `to`, written in one epoch. */
interface Run {
  readonly epoch: number
  readonly from: number
  readonly to: number
}

/** The witness of a broker in this thread. */
export class LogWitness implements Witness {
  readonly #turns: Turns
  readonly #broker: Broker

  constructor(turns: Turns, broker: Broker) {
    this.#turns = turns
    this.#broker = broker
  }

  #find({ topicId, partitionId }: PartitionName): Partition | undefined {
    const found = this.#broker.replicas.find(topicId, partitionId)
    return found === undefined || found.gone ? undefined : found
  }

  replicated(partitions: readonly PartitionName[]): Later<(Replicated | undefined)[]> {
    const found = partitions.map(name => {
      // A leader whose log has failed still knows what it had shown.
      const log = this.#find(name)?.knownLog
      return log && replicatedIn(log, log.highWatermark)
    })
    return Later.of(this.#turns, found)
  }

  held(name: PartitionName, { runs }: Replicated): Later<Replicated | undefined> {
    const partition = this.#find(name)
    if (partition === undefined) {
      // It has not heard yet that it has a replica: there is nothing in it. Who has only just begun knows none, whatever is on its disk.
      const nothing = { offset: runs[0]?.from ?? 0, runs: [] }
      return Later.of<Replicated | undefined>(this.#turns, this.#broker.isServing ? nothing : undefined)
    }
    if (!partition.tryOpen()) return Later.of<Replicated | undefined>(this.#turns, undefined)
    const { log } = partition
    return Later.of(this.#turns, replicatedIn(log, Math.min(log.logEndOffset, divergence(runs, log))))
  }

  watch({ untilLeaderEpoch, ...name }: WatchedPartition, told: (highWatermark: number) => void): void {
    const partition = this.#find(name)
    if (partition === undefined) return
    const tell = (highWatermark: number) => {
      if (partition.leaderEpoch >= untilLeaderEpoch) end()
      else if (partition.isLeader) told(highWatermark)
    }
    const end = partition.onHighWatermark(tell)
    // What has not been opened has shown nothing yet.
    const { knownLog } = partition
    if (knownLog !== undefined) tell(knownLog.highWatermark)
  }
}

/** What a log has below `end`, by the epochs in which it was written. */
function replicatedIn(log: Log, end: number): Replicated {
  const runs: Run[] = []
  for (let from = log.logStartOffset; from < end; ) {
    const epoch = log.epochForOffset(from)
    if (epoch === undefined) break
    const to = Math.min(end, log.endOffsetForEpoch(epoch).endOffset)
    if (to <= from) break
    runs.push({ epoch, from, to })
    from = to
  }
  return { offset: end, runs }
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
