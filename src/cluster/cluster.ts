import { Broker } from '../broker/broker.ts'
import { brokerConfigDoc } from '../broker/configs/acted-on.ts'
import { BrokerConfig } from '../broker/configs/broker-config.ts'
import type { EmulatedRelease } from '../broker/emulate/releases.ts'
import { forward } from '../broker/forward.ts'
import { DEFAULT_LIMITS, type Limits } from '../broker/limits.ts'
import type { ControllerMessageKind, ControllerMessages, Link } from '../broker/link.ts'
import { ERROR_CODES, errorName, KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env, LogFields } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { randomUuid } from '../util/uuid.ts'
import { Controller } from './controller.ts'
import type { ClusterFloor } from './decision-context.ts'
import { openMetadataLog } from './metadata-log.ts'

/**
 * A cluster: one controller and the brokers it tells what is so. One broker is a cluster of one, by the same code.
 */

export interface ClusterOptions {
  readonly env: Env
  readonly brokers: readonly BrokerDefinition[]
  /** Broker configs by Kafka's names, for all brokers. */
  readonly configs?: Readonly<Record<string, string>>
  readonly clusterId?: string
  /** Where this cluster takes the place of another: what the numbers that clients know begin with. */
  readonly floor?: ClusterFloor
  readonly limits?: Partial<Limits>
  /** Takes members out of their groups when their connections end. */
  readonly evictDisconnected?: boolean
  /** Keeps what requests and answers say in the request logs. */
  readonly keepsFields?: boolean
  /** See `BrokerOptions.emulates`. */
  readonly emulates?: EmulatedRelease
  /** Told of mistakes of ours: see `Broker.fatal`. */
  readonly onFatal?: (error: unknown, fields: LogFields) => void
}

interface BrokerDefinition {
  readonly id: number
  readonly storage: Storage
  readonly platform: RecordsPlatform
  /** See `LogOptions.forgetProducers`. */
  readonly forgetProducers?: boolean
}

/** A topic that is to be there from the start. */
export interface TopicDeclaration {
  readonly name: string
  /** `num.partitions` when left out. */
  readonly partitions?: number
  /** `default.replication.factor` when left out. */
  readonly replicationFactor?: number
  readonly configs?: Readonly<Record<string, string>>
}

export class Cluster {
  readonly clusterId: string
  readonly #env: Env
  readonly #brokers = new Map<number, Broker>()
  readonly #controller: Controller

  constructor(options: ClusterOptions) {
    const { env, brokers, configs = {} } = options
    this.#env = env
    this.clusterId = options.clusterId ?? randomUuid(() => env.random())
    for (const name of Object.keys(configs)) {
      if (brokerConfigDoc(name) === undefined) env.log('warn', `the config ${name} is kept, and not acted on`)
    }
    const [first] = brokers
    const log = openMetadataLog({ env, storage: first.storage, platform: first.platform })
    this.#controller = new Controller({ env, config: new BrokerConfig(configs), log, floor: options.floor })
    for (const { id, storage, platform, forgetProducers } of brokers) {
      const broker = new Broker({
        id,
        clusterId: this.clusterId,
        env,
        storage,
        platform,
        config: new BrokerConfig({ ...configs, 'node.id': String(id), 'broker.id': String(id) }),
        limits: { ...DEFAULT_LIMITS, ...options.limits },
        link: this.#link(),
        forgetProducers,
        keepsFields: options.keepsFields,
        emulates: options.emulates,
        evictDisconnected: options.evictDisconnected,
        onFatal: options.onFatal,
      })
      this.#brokers.set(id, broker)
      this.#controller.subscribe(broker)
    }
  }

  /** The broker with this id. */
  broker(id: number): Broker {
    const broker = this.#brokers.get(id)
    if (broker === undefined) throw new RangeError(`there is no broker ${id}`)
    return broker
  }

  get brokers(): Broker[] {
    return [...this.#brokers.values()]
  }

  /**
   * Makes topics, as a CreateTopics request would.
   *
   * @returns the error of the first that was refused (TOPIC_ALREADY_EXISTS counts as made), or undefined
   */
  createTopics(topics: readonly TopicDeclaration[]): Later<KafkaError | undefined> {
    const request = {
      topics: topics.map(({ name, partitions = -1, replicationFactor = -1, configs = {} }) => ({
        name,
        numPartitions: partitions,
        replicationFactor,
        assignments: [],
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      })),
      timeoutMs: 30_000,
      validateOnly: false,
    }
    const [broker] = this.brokers
    return forward('createTopics', request, { broker, apiVersion: 7 }).map(({ topics: results = [] }) => {
      for (const { name, errorCode = 0, errorMessage } of results) {
        if (errorCode === 0 || errorCode === ERROR_CODES.TOPIC_ALREADY_EXISTS) continue
        const error = errorName(errorCode)
        return new KafkaError(error, `topic ${name}: ${errorMessage ?? error}`)
      }
      return undefined
    })
  }

  /** Raises the leader epochs of all partitions, or those of one topic, as an election of the same leaders does. */
  raiseLeaderEpochs(options: { topic?: string; partition?: number; atLeast?: number } = {}): Later<void> {
    const { topic = null, partition = -1, atLeast = 0 } = options
    return this.#controller.handle('raiseLeaderEpochs', { topic, partition, atLeast }).map(() => undefined)
  }

  /** Ends all brokers: waiting requests are answered, connections closed. */
  shutdown(): Later<void> {
    const later = new Later<void>(this.#env.turns)
    let left = this.#brokers.size
    for (const broker of this.#brokers.values()) {
      broker.shutdown().whenSettled(() => {
        if (--left === 0) later.settle()
      })
    }
    return later
  }

  /** A link on which every message arrives, each in a turn of its own. */
  #link(): Link {
    const controller = this.#controller
    const { turns } = this.#env
    return {
      send<Kind extends ControllerMessageKind>(kind: Kind, request: ControllerMessages[Kind]['request']) {
        const reply = new Later<ControllerMessages[Kind]['reply']>(turns)
        turns.enqueue(() => controller.handle(kind, request).whenSettled(value => reply.settle(value)))
        return reply
      },
    }
  }
}
