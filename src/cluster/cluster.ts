import type { Broker } from '../broker/broker.ts'
import { brokerConfigDoc } from '../broker/configs/acted-on.ts'
import { BrokerConfig } from '../broker/configs/broker-config.ts'
import type { EmulatedRelease } from '../broker/emulate/releases.ts'
import { ask } from '../broker/forward.ts'
import type { Limits } from '../broker/limits.ts'
import type { PreviousBrokerEpoch } from '../broker/link.ts'
import type { MetadataImage } from '../broker/metadata/image.ts'
import type { AppliedRecord } from '../broker/metadata/records.ts'
import { ERROR_CODES, errorName, KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env, LogFields } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { randomUuid } from '../util/uuid.ts'
import { BrokerNode } from './broker-node.ts'
import { Controller } from './controller.ts'
import type { ClusterFloor } from './decision-context.ts'
import { type MetadataLog, openMetadataLog } from './metadata-log.ts'
import { CONTROLLER, Network } from './network.ts'

/**
 * A cluster: one controller, the brokers that it tells what is so, and the network between them. One broker is a cluster of one, by the
 * same code. Brokers can be killed, paused and started again, and links cut, see `nodes` and `network`.
 */

export interface ClusterOptions {
  readonly env: Env
  readonly brokers: readonly BrokerDefinition[]
  /** Where the controller keeps what it decides; with the first broker by default. */
  readonly controllerStorage?: Storage
  /** Whether messages may be lost and brokers fall silent, so that heartbeats mean something; by default with several brokers. */
  readonly mayFail?: boolean
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
  /** See `ControllerOptions`. */
  readonly historyRecords?: number
  /** Told of every metadata record as it is decided, with the image that it led to. */
  readonly onRecord?: (record: AppliedRecord, image: MetadataImage) => void
  /** Told when what the controller decides cannot be brought to the disk: the cluster cannot go on. */
  readonly onMetadataFailure?: (failure: StorageFailure) => void
  /** Told of mistakes of ours: see `Broker.fatal`. */
  readonly onFatal?: (error: unknown, fields: LogFields) => void
}

export interface BrokerDefinition {
  readonly id: number
  readonly storage: Storage
  readonly platform: RecordsPlatform
  readonly rack?: string
  /** See `LogOptions.forgetProducers`. */
  readonly forgetProducers?: boolean
  /** See `BrokerRegistration.previousBrokerEpoch`; -1 by default. */
  readonly previousBrokerEpoch?: PreviousBrokerEpoch
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
  readonly network: Network
  /** What the controller has decided, for whoever closes it. */
  readonly metadataLog: MetadataLog
  readonly #env: Env
  readonly #nodes = new Map<number, BrokerNode>()
  readonly #controller: Controller

  constructor(options: ClusterOptions) {
    const { env, brokers, configs = {} } = options
    this.#env = env
    this.clusterId = options.clusterId ?? randomUuid(() => env.random())
    for (const name of Object.keys(configs)) {
      if (brokerConfigDoc(name) === undefined) env.log('warn', `the config ${name} is kept, and not acted on`)
    }
    const [first] = brokers
    const storage = options.controllerStorage ?? first.storage
    const { floor, onRecord, historyRecords } = options
    const { onMetadataFailure: onFailure } = options
    this.metadataLog = openMetadataLog({ env, storage, platform: first.platform, onFailure })
    const config = new BrokerConfig(configs)
    this.#controller = new Controller({ env, config, log: this.metadataLog, floor, onRecord, historyRecords })
    this.network = new Network(env)
    this.network.start(CONTROLLER)
    const mayFail = options.mayFail ?? brokers.length > 1
    const shared = { ...options, configs, mayFail, clusterId: this.clusterId }
    for (const definition of brokers) {
      const others = { network: this.network, controller: this.#controller, nodes: this.#nodes }
      this.#nodes.set(definition.id, new BrokerNode(definition, shared, others))
    }
  }

  /** The broker with this id, as it is now: another one after it was started again. */
  broker(id: number): Broker {
    return this.node(id).broker
  }

  /** The place of a broker, whether it runs or not. */
  node(id: number): BrokerNode {
    const node = this.#nodes.get(id)
    if (node === undefined) throw new RangeError(`there is no broker ${id}`)
    return node
  }

  get brokers(): Broker[] {
    return [...this.#nodes.values()].map(({ broker }) => broker)
  }

  /** What the controller has decided; brokers may know less. */
  get image(): MetadataImage {
    return this.#controller.image
  }

  /** The offset behind the last record that counts. */
  get metadataOffset(): number {
    return this.#controller.metadataOffset
  }

  /**
   * Makes topics, as a CreateTopics request would.
   *
   * @returns the error of the first that was refused (TOPIC_ALREADY_EXISTS counts as made), or undefined
   */
  createTopics(topics: readonly TopicDeclaration[]): Later<KafkaError | undefined> {
    if (topics.length === 0) return Later.of<KafkaError | undefined>(this.#env.turns, undefined)
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
    const broker = [...this.#nodes.values()].find(({ isUp }) => isUp)?.broker ?? this.brokers[0]
    return ask('createTopics', request, { broker, apiVersion: 7 }).map(reply => {
      if (reply === undefined) return new KafkaError('REQUEST_TIMED_OUT', 'the controller did not answer')
      for (const { name, errorCode = 0, errorMessage } of reply.topics ?? []) {
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
    this.#controller.close()
    let left = this.#nodes.size
    for (const { broker } of this.#nodes.values()) {
      broker.shutdown().whenSettled(() => {
        if (--left === 0) later.settle()
      })
    }
    return later
  }
}
