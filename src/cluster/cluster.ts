import type { Broker } from '../broker/broker.ts'
import type { Storage } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import { type BrokerDefinition, BrokerNode, type SharedBrokerOptions } from './broker-node.ts'
import { Hub, type HubOptions } from './hub.ts'

/**
 * A cluster in one thread: what it has one of, see `hub.ts`, and the brokers. One broker is a cluster of one, by the
 * same code. Brokers can be killed, paused and started again, and links cut, see `nodes` and `network`.
 */

export interface ClusterOptions
  extends Omit<HubOptions, 'brokerIds' | 'storage' | 'platform'>,
    Omit<SharedBrokerOptions, 'clusterId' | 'configs'> {
  readonly brokers: readonly BrokerDefinition[]
  /** Where the controller keeps what it decides; with the first broker by default. */
  readonly controllerStorage?: Storage
}

export class Cluster extends Hub {
  readonly #nodes = new Map<number, BrokerNode>()

  constructor(options: ClusterOptions) {
    const { brokers, configs = {}, controllerStorage, ...more } = options
    const [{ storage, platform }] = brokers
    const brokerIds = brokers.map(({ id }) => id)
    super({ ...more, configs, brokerIds, platform, storage: controllerStorage ?? storage })
    const { env, limits, evictDisconnected, keepsFields, emulates, onFatal } = options
    const { clusterId } = this
    const shared = { env, clusterId, configs, limits, evictDisconnected, keepsFields, emulates, onFatal }
    for (const definition of brokers) {
      this.#nodes.set(definition.id, new BrokerNode(definition, shared, this.place(definition.id)))
    }
  }

  /** The broker with this id, as it is now: another one after it was started again. */
  broker(id: number): Broker {
    return this.node(id).broker
  }

  /** A broker, whether it runs or not. */
  node(id: number): BrokerNode {
    const node = this.#nodes.get(id)
    if (node === undefined) throw new RangeError(`there is no broker ${id}`)
    return node
  }

  get brokers(): Broker[] {
    return [...this.#nodes.values()].map(({ broker }) => broker)
  }

  /** Ends all brokers: waiting requests are answered, connections closed. */
  shutdown(): Later<void> {
    const later = new Later<void>(this.env.turns)
    this.endController()
    let left = this.#nodes.size
    for (const { broker } of this.#nodes.values()) {
      broker.shutdown().whenSettled(() => {
        if (--left === 0) later.settle()
      })
    }
    return later
  }
}
