import type { Env } from '../util/env.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { Link } from './link.ts'
import type { Partition } from './partition.ts'

/**
 * Tells the controller which replicas of this broker are offline, because their logs failed, so that somebody else leads: what
 * Kafka's brokers do with AssignReplicasToDirs and the offline directories in their heartbeats. Told again until it is heard.
 */

const RETRY_MS = 100

export class ReplicaFailures {
  readonly #options: { env: Env; link: Link; brokerId: number; brokerEpoch: () => number }
  readonly #waiting = new Set<Partition>()
  #isScheduled = false
  #timer: Timer | undefined
  #stopped = false

  constructor(options: { env: Env; link: Link; brokerId: number; brokerEpoch: () => number }) {
    this.#options = options
  }

  add(partition: Partition): void {
    this.#waiting.add(partition)
    if (this.#isScheduled || this.#stopped) return
    this.#isScheduled = true
    // A disk that fails takes many with it: they are told together.
    this.#options.env.turns.enqueue(() => this.#send())
  }

  #send(): void {
    const { env, link, brokerId, brokerEpoch } = this.#options
    this.#isScheduled = false
    const told = [...this.#waiting].filter(partition => !partition.gone)
    this.#waiting.clear()
    if (this.#stopped || told.length === 0) return
    const partitions = told.map(({ topicId, index }) => ({ topicId, partitionId: index }))
    link.send('failReplicas', { brokerId, brokerEpoch: brokerEpoch(), partitions }).whenSettled(reply => {
      if (this.#stopped || reply?.error === 'NONE') return
      for (const partition of told) this.#waiting.add(partition)
      if (this.#isScheduled) return
      this.#isScheduled = true
      this.#timer = env.timer(RETRY_MS, () => this.#send())
    })
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }
}
