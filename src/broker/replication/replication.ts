import type { Env } from '../../util/env.ts'
import type { Later } from '../../util/later.ts'
import type { Timer } from '../../util/timer-queue.ts'
import type { BrokerConfig } from '../configs/broker-config.ts'
import type { Link, PeerMessageKind, PeerMessages } from '../link.ts'
import type { Partition } from '../partition.ts'
import type { Purgatory } from '../purgatory.ts'
import { ReplicaFailures } from '../replica-failures.ts'
import type { Replicas } from '../replicas.ts'
import { Fetchers } from './fetchers.ts'
import { IsrChanges } from './isr-changes.ts'
import { ReplicaFetchServer } from './serve-fetch.ts'

/**
 * A broker's part in the replication of its partitions, put together: it follows leaders, serves followers, and asks the controller for other
 * in-sync replicas. The rules are elsewhere in this folder.
 */
export class Replication {
  readonly fetchers: Fetchers
  readonly #env: Env
  readonly #config: BrokerConfig
  readonly #replicas: Replicas
  readonly #server: ReplicaFetchServer
  readonly #isrChanges: IsrChanges
  readonly #failures: ReplicaFailures
  #isrTimer: Timer | undefined

  constructor(options: {
    brokerId: number
    brokerEpoch: () => number
    /** See `FetcherContext`. */
    knowsRegistration: () => boolean
    env: Env
    config: BrokerConfig
    link: Link
    replicas: Replicas
    purgatory: Purgatory
  }) {
    this.#env = options.env
    this.#config = options.config
    this.#replicas = options.replicas
    this.fetchers = new Fetchers(options)
    this.#server = new ReplicaFetchServer(options)
    this.#isrChanges = new IsrChanges(options)
    this.#failures = new ReplicaFailures(options)
    if (options.link.mayFail) this.#scheduleIsrShrinking()
  }

  /** Twice in the time that a follower may lag, as Kafka does. */
  #scheduleIsrShrinking(): void {
    const look = () => {
      this.#replicas.shrinkIsrs()
      this.#scheduleIsrShrinking()
    }
    this.#isrTimer = this.#env.timer(this.#config.number('replica.lag.time.max.ms') / 2, look, 'client')
  }

  /** A partition that is led here has other in-sync replicas to ask for. */
  askForIsr(partition: Partition): void {
    this.#isrChanges.ask(partition)
  }

  /** The log of a partition failed: it follows nobody any more, and the cluster is told. */
  failed(partition: Partition): void {
    this.fetchers.remove(partition.key)
    this.#failures.add(partition)
  }

  /** Another broker has a message. */
  receive<Kind extends PeerMessageKind>(
    kind: Kind,
    request: PeerMessages[Kind]['request'],
  ): Later<PeerMessages[Kind]['reply']> {
    const answers: { [Each in PeerMessageKind]: (request: PeerMessages[Each]['request']) => unknown } = {
      fetch: fetch => this.#server.fetch(fetch),
    }
    return answers[kind](request) as Later<PeerMessages[Kind]['reply']>
  }

  stop(): void {
    this.#isrTimer?.cancel()
    this.fetchers.stop()
    this.#isrChanges.stop()
    this.#failures.stop()
  }
}
