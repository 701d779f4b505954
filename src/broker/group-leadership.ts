import type { GroupCoordinator } from '../coordinator/group/group-coordinator.ts'
import { KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Env } from '../util/env.ts'
import { coordinatorLog } from './coordinator-log.ts'
import { CONSUMER_OFFSETS } from './internal-topics.ts'
import type { Partition } from './partition.ts'

/** How long until groups are loaded once more that could not be, in milliseconds. */
const RETRY_MS = 500

/** Groups live where their partition of `__consumer_offsets` is led: they are loaded with each new leadership, and given up with it. */
export class GroupLeadership {
  readonly #env: Env
  readonly #platform: RecordsPlatform
  readonly #groups: GroupCoordinator
  /** The leader epochs in which partitions are led here. */
  readonly #epochs = new Map<number, number>()

  constructor(options: { env: Env; platform: RecordsPlatform; groups: GroupCoordinator }) {
    this.#env = options.env
    this.#platform = options.platform
    this.#groups = options.groups
  }

  /** A partition of this broker is as the controller says now; those of other topics are nothing to groups. */
  update(partition: Partition): void {
    if (partition.topic !== CONSUMER_OFFSETS) return
    const { index, leaderEpoch } = partition
    if (partition.notLedBecause !== undefined) return this.resign(index)
    if (this.#epochs.get(index) === leaderEpoch) return
    try {
      this.#groups.elected(index, coordinatorLog(partition, this.#platform))
      this.#epochs.set(index, leaderEpoch)
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      this.#env.log('error', 'the groups of a partition cannot be loaded', { partition: index, error: error.message })
      this.resign(index)
      if (error.error === 'KAFKA_STORAGE_ERROR') this.#tryAgain(partition)
    }
  }

  /** A disk that is full may have room again; a log that has failed has not, and tells so itself. */
  #tryAgain(partition: Partition): void {
    this.#env.timer(RETRY_MS, () => {
      if (partition.notLedBecause === undefined) this.update(partition)
    })
  }

  /** The groups of a partition are somebody else's now: whoever waits is told so. */
  resign(index: number): void {
    this.#epochs.delete(index)
    this.#groups.resigned(index)
  }
}
