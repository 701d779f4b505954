import type { Env } from '../../util/env.ts'
import type { IsrAnswer, Link } from '../link.ts'
import type { Partition } from '../partition.ts'

/**
 * Asks the controller for other in-sync replicas, on behalf of the partitions that are led here (Kafka's `AlterPartitionManager`): one
 * message at a time, with everything that has come up meanwhile; again when it was not answered.
 */

const RETRY_MS = 100

export class IsrChanges {
  readonly #env: Env
  readonly #link: Link
  readonly #brokerId: number
  readonly #brokerEpoch: () => number
  readonly #waiting = new Map<string, Partition>()
  #underWay = false
  #stopped = false

  constructor(options: { env: Env; link: Link; brokerId: number; brokerEpoch: () => number }) {
    this.#env = options.env
    this.#link = options.link
    this.#brokerId = options.brokerId
    this.#brokerEpoch = options.brokerEpoch
  }

  /** The partition has a proposal, see `Leadership.proposed`. */
  ask(partition: Partition): void {
    this.#waiting.set(partition.key, partition)
    this.#send()
  }

  stop(): void {
    this.#stopped = true
    this.#waiting.clear()
  }

  #send(): void {
    if (this.#underWay || this.#stopped || this.#waiting.size === 0) return
    const brokerEpoch = this.#brokerEpoch()
    // What is asked has to be read before the answer: it may be another by then.
    const asked = [...this.#waiting.values()].flatMap(partition => {
      const proposal = partition.isrProposal(brokerEpoch)
      return proposal === undefined ? [] : [{ partition, proposal }]
    })
    this.#waiting.clear()
    if (asked.length === 0) return
    this.#underWay = true
    const partitions = asked.map(({ proposal }) => proposal)
    this.#link.send('alterPartition', { brokerId: this.#brokerId, brokerEpoch, partitions }).whenSettled(reply => {
      this.#underWay = false
      if (this.#stopped) return
      if (reply?.error !== 'NONE') return this.#again(asked.map(({ partition }) => partition))
      const answers = new Map(reply.partitions.map(answer => [`${answer.topicId}-${answer.partitionId}`, answer]))
      const open = asked.filter(({ partition, proposal }) => !conclude(partition, proposal, answers.get(partition.key)))
      this.#again(open.map(({ partition }) => partition))
    })
  }

  #again(partitions: readonly Partition[]): void {
    for (const partition of partitions) this.#waiting.set(partition.key, partition)
    if (partitions.length === 0) return this.#send()
    this.#underWay = true
    this.#env.timer(RETRY_MS, () => {
      this.#underWay = false
      this.#send()
    })
  }
}

/** False when it has to be asked again. */
function conclude(
  partition: Partition,
  { partitionEpoch }: { partitionEpoch: number },
  answer: IsrAnswer | undefined,
): boolean {
  switch (answer?.error) {
    case 'NONE':
    case 'INELIGIBLE_REPLICA':
    case 'OPERATION_NOT_ATTEMPTED':
      // What was granted has been told before this answer: then there is another epoch, and nothing to take back.
      partition.withdrawIsr(partitionEpoch)
      return true
    case 'NEW_LEADER_ELECTED':
    case 'FENCED_LEADER_EPOCH':
    case 'INVALID_UPDATE_VERSION':
    case 'INVALID_REQUEST':
    case 'UNKNOWN_TOPIC_ID':
    case 'UNKNOWN_TOPIC_OR_PARTITION':
      // The controller knows more: what it knows is on its way.
      return true
    default:
      return false
  }
}
