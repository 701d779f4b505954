import { brokerConfigDoc } from '../broker/configs/acted-on.ts'
import { BrokerConfig } from '../broker/configs/broker-config.ts'
import { ask } from '../broker/forward.ts'
import type { MetadataImage } from '../broker/metadata/image.ts'
import type { AppliedRecord } from '../broker/metadata/records.ts'
import { ERROR_CODES, errorName, KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import { assert } from '../util/assert.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { randomUuid } from '../util/uuid.ts'
import { Controller } from './controller.ts'
import type { ClusterFloor } from './decision-context.ts'
import { CONTROLLER_ID } from './decisions/describe-quorum.ts'
import { floorAbove } from './floor.ts'
import { type MetadataLog, openMetadataLog } from './metadata-log.ts'
import { CONTROLLER, Network } from './network.ts'
import { Place } from './place.ts'

/**
 * What a cluster has one of, whichever threads its brokers run in: the controller, its log, and the network with a place for each broker.
 */

export interface HubOptions {
  readonly env: Env
  readonly brokerIds: readonly number[]
  /** Where the controller keeps what it decides. */
  readonly storage: Storage
  readonly platform: RecordsPlatform
  /** Whether messages may be lost and brokers fall silent, so that heartbeats mean something; by default with several brokers. */
  readonly mayFail?: boolean
  /** Broker configs by Kafka's names, for all brokers. */
  readonly configs?: Readonly<Record<string, string>>
  readonly clusterId?: string
  /** Where this cluster takes the place of another: what the numbers that clients know begin with. */
  readonly floor?: ClusterFloor
  /** See `ControllerOptions`. */
  readonly historyRecords?: number
  /** Told of every metadata record as it is decided, with the image that it led to. */
  readonly onRecord?: (record: AppliedRecord, image: MetadataImage) => void
  /** Told when what the controller decides cannot be brought to the disk: the cluster cannot go on. */
  readonly onMetadataFailure?: (failure: StorageFailure) => void
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

export class Hub {
  readonly clusterId: string
  readonly network: Network
  protected readonly env: Env
  readonly #options: HubOptions
  readonly #places = new Map<number, Place>()
  readonly #mayFail: boolean
  #floor: ClusterFloor
  #metadataLog: MetadataLog
  #controller: Controller

  constructor(options: HubOptions) {
    const { env, configs = {} } = options
    this.env = env
    this.#options = options
    this.clusterId = options.clusterId ?? randomUuid(() => env.random())
    for (const name of Object.keys(configs)) {
      if (brokerConfigDoc(name) === undefined) env.log('warn', `the config ${name} is kept, and not acted on`)
    }
    this.#mayFail = options.mayFail ?? options.brokerIds.length > 1
    this.#floor = options.floor ?? { leaderEpoch: 0, producerId: 0 }
    this.#metadataLog = this.#openMetadataLog()
    this.#controller = this.#newController()
    this.network = new Network(env)
    this.network.start(CONTROLLER)
    const shared = {
      env,
      network: this.network,
      controller: () => this.#controller,
      places: this.#places,
      mayFail: this.#mayFail,
    }
    for (const id of options.brokerIds) this.#places.set(id, new Place(id, shared))
  }

  #openMetadataLog(): MetadataLog {
    const { env, storage, platform, onMetadataFailure } = this.#options
    return openMetadataLog({ env, storage, platform, onFailure: onMetadataFailure })
  }

  #newController(): Controller {
    const { env, configs, onRecord, historyRecords, brokerIds } = this.#options
    const id = this.#mayFail ? CONTROLLER_ID : brokerIds[0]
    const config = new BrokerConfig(configs ?? {})
    return new Controller({ id, env, config, log: this.#metadataLog, floor: this.#floor, onRecord, historyRecords })
  }

  /**
   * Another controller takes the place of the one that there was, which ends: on what its storage holds by now, with numbers above all that
   * clients have seen, and links that are whole. No broker may be up. Returns what the numbers begin with.
   */
  beginAnew(): ClusterFloor {
    assert(!this.places.some(({ isUp }) => isUp), 'a broker is up that would go on with the controller before')
    this.#floor = floorAbove(this.image, this.#floor)
    this.endController()
    this.network.beginAnew()
    this.network.start(CONTROLLER)
    this.#metadataLog = this.#openMetadataLog()
    this.#controller = this.#newController()
    return this.#floor
  }

  /** What the controller has decided, for whoever closes it. */
  get metadataLog(): MetadataLog {
    return this.#metadataLog
  }

  /** Where a broker is, or can be. */
  place(id: number): Place {
    const place = this.#places.get(id)
    if (place === undefined) throw new RangeError(`there is no broker ${id}`)
    return place
  }

  get places(): Place[] {
    return [...this.#places.values()]
  }

  /** What the controller has decided; brokers may know less. */
  get image(): MetadataImage {
    return this.#controller.image
  }

  /** The offset behind the last record that counts. */
  get metadataOffset(): number {
    return this.#controller.metadataOffset
  }

  /** See {@link Controller.heardBy}. */
  heardBy(brokerId: number): number {
    return this.#controller.heardBy(brokerId)
  }

  /**
   * Makes topics, as a CreateTopics request would.
   *
   * @returns the error of the first that was refused (TOPIC_ALREADY_EXISTS counts as made), or undefined
   */
  createTopics(topics: readonly TopicDeclaration[]): Later<KafkaError | undefined> {
    if (topics.length === 0) return Later.of<KafkaError | undefined>(this.env.turns, undefined)
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
    const broker = this.places.find(({ isUp }) => isUp) ?? this.places[0]
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

  /**
   * Raises the leader epochs of all partitions, or those of one topic, as an election of the same leaders does; with `elsewhere` others
   * lead that are in sync, where there are any.
   */
  raiseLeaderEpochs(
    options: { topic?: string; partition?: number; atLeast?: number; elsewhere?: boolean } = {},
  ): Later<void> {
    const { topic = null, partition = -1, atLeast = 0, elsewhere = false } = options
    return this.#controller.handle('raiseLeaderEpochs', { topic, partition, atLeast, elsewhere }).map(() => undefined)
  }

  /** Nothing is decided by itself any more, and nobody is told. */
  endController(): void {
    this.#controller.close()
  }
}
