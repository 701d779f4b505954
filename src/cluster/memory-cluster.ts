import type { Broker } from '../broker/broker.ts'
import { evictMembers } from '../broker/evict.ts'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../broker/sink.ts'
import type { KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { Later } from '../util/later.ts'
import { Cluster, type ClusterOptions } from './cluster.ts'
import type { ClusterFloor } from './decision-context.ts'
import { floorAbove } from './floor.ts'
import type { TopicDeclaration } from './hub.ts'
import type { Beginning, StandaloneCluster } from './standalone.ts'

/**
 * A cluster of one broker in memory that can be put back: to its beginning, or to how it once was. All durable state is in the
 * storage, so to put it back is to start another cluster, on an empty storage or on a fork of one, under the address of
 * the old. Clients see a broker that went away and came back: connections drop, and leader epochs, topic ids (after a
 * reset) and producer ids are none that they have seen.
 */

export interface MemoryClusterOptions extends Omit<ClusterOptions, 'brokers' | 'floor'> {
  readonly brokerId: number
  readonly platform: RecordsPlatform
  /** How many bytes all logs may take. */
  readonly maxBytes?: number
}

/** How a cluster was at one moment. It shares its bytes with what it was made of. */
export interface ClusterSnapshot {
  readonly storage: MemoryStorage
}

export class MemoryCluster implements StandaloneCluster {
  readonly #options: MemoryClusterOptions
  #beginning: Beginning = { host: 'localhost', port: 0, topics: [] }
  #floor: ClusterFloor = { leaderEpoch: 0, producerId: 0 }
  #storage: MemoryStorage
  #cluster: Cluster

  constructor(options: MemoryClusterOptions) {
    this.#options = options
    this.#storage = new MemoryStorage({ turns: options.env.turns, maxBytes: options.maxBytes })
    this.#cluster = this.#make(options.clusterId)
  }

  get clusterId(): string {
    return this.#cluster.clusterId
  }

  /** The cluster as it is now; another after a reset. */
  get cluster(): Cluster {
    return this.#cluster
  }

  /** The broker as it is now; another after a reset. */
  get broker(): Broker {
    return this.#cluster.broker(this.#options.brokerId)
  }

  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection {
    return this.broker.connect(sink, peer)
  }

  /** Tells the cluster where it listens and makes its topics. Settles with why one was refused, or undefined. */
  start(beginning: Beginning): Later<KafkaError | undefined> {
    this.#beginning = beginning
    return this.#begin(beginning.topics)
  }

  /** Back to the beginning: what was declared is made anew, everything else is gone. */
  reset(): Later<void> {
    this.#replace(new MemoryStorage({ turns: this.#options.env.turns, maxBytes: this.#options.maxBytes }), false)
    return this.#begin(this.#beginning.topics).map(() => undefined)
  }

  snapshot(): ClusterSnapshot {
    return { storage: this.#storage.fork() }
  }

  /**
   * Back to how it was at a snapshot, which can be used again: topics with their ids, records, committed offsets, configs.
   * Groups come back without members, whose connections are gone, and logs without what they knew of idempotent producers, so
   * that those which live on are taken with whatever sequence they have come to.
   */
  restore({ storage }: ClusterSnapshot): Later<void> {
    const { leaderEpoch } = this.#replace(storage.fork(), true)
    const restored = new Later<void>(this.#options.env.turns)
    this.#begin([]).whenSettled(() => {
      this.#cluster.raiseLeaderEpochs({ atLeast: leaderEpoch }).whenSettled(() => {
        evictMembers(this.broker, { reason: 'the broker was put back to a snapshot' })
        restored.settle()
      })
    })
    return restored
  }

  shutdown(): Later<void> {
    return this.#cluster.shutdown()
  }

  #replace(storage: MemoryStorage, forgetProducers: boolean): ClusterFloor {
    const { broker, clusterId } = this
    const floor = floorAbove(broker.image, this.#floor)
    broker.dropConnections()
    this.#cluster.shutdown()
    broker.replicas.close()
    this.#storage = storage
    this.#floor = floor
    this.#cluster = this.#make(clusterId, forgetProducers)
    return floor
  }

  #make(clusterId: string | undefined, forgetProducers = false): Cluster {
    const { brokerId, platform } = this.#options
    // The storage that is put back is whole: it was forked, not pulled out of a running machine.
    const brokers = [
      { id: brokerId, storage: this.#storage, platform, forgetProducers, previousBrokerEpoch: 'same' as const },
    ]
    return new Cluster({ ...this.#options, brokers, clusterId, floor: this.#floor })
  }

  #begin(topics: readonly TopicDeclaration[]): Later<KafkaError | undefined> {
    const begun = new Later<KafkaError | undefined>(this.#options.env.turns)
    this.broker.register(this.#beginning.host, this.#beginning.port).whenSettled(() => {
      this.#cluster.createTopics(topics).whenSettled(refused => begun.settle(refused))
    })
    return begun
  }
}
