/**
 * What a broker in this thread does when it is asked: the one implementation of {@link BrokerMethods}; all others pass calls on
 * to it.
 */
import { describeBroker } from '../broker/describe.ts'
import type { ClusterSnapshot, MemoryCluster } from '../cluster/index.ts'
import { parseDuration } from '../util/duration.ts'
import type { AdvanceOptions, BrokerMethods, BrokerSnapshot } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import type { SystemEnv } from './system-env.ts'

export class LocalMethods implements BrokerMethods {
  readonly #env: SystemEnv
  readonly #cluster: MemoryCluster
  readonly #snapshots = new Map<number, ClusterSnapshot>()

  constructor(env: SystemEnv, cluster: MemoryCluster) {
    this.#env = env
    this.#cluster = cluster
  }

  async describe() {
    return describeBroker(this.#cluster.broker)
  }

  async requests() {
    return this.#cluster.broker.requestLog.records()
  }

  async advance(time: number | string, { sessions }: AdvanceOptions = {}) {
    const ms = parseDuration(time)
    if (ms === undefined) {
      const hint = "write it in milliseconds, or as '7d', '1h30m', '250ms'"
      throw new OttlaError('OTTLA_INVALID_OPTION', `not a span of time: ${time}`, { hint })
    }
    if (!this.#env.aheadOfClients) {
      const hint = "start it with startBroker({ time: 'virtual' })"
      throw new OttlaError('OTTLA_WRONG_MODE', "the broker's clock is the real one, which cannot be moved", { hint })
    }
    this.#env.advance(ms, { clients: sessions })
  }

  async reset() {
    await this.#env.settled(() => this.#cluster.reset())
  }

  async snapshot(): Promise<BrokerSnapshot> {
    const id = this.#snapshots.size + 1
    this.#snapshots.set(id, this.#cluster.snapshot())
    return { clusterId: this.#cluster.clusterId, id }
  }

  async restore({ clusterId, id }: BrokerSnapshot) {
    const snapshot = clusterId === this.#cluster.clusterId ? this.#snapshots.get(id) : undefined
    if (snapshot === undefined) throw new OttlaError('OTTLA_INVALID_OPTION', 'this is no snapshot of this broker')
    await this.#env.settled(() => this.#cluster.restore(snapshot))
  }
}
