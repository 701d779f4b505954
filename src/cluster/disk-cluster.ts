import type { Broker } from '../broker/broker.ts'
import type { DataDirectory } from '../broker/data-directory.ts'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../broker/sink.ts'
import type { KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import { allOf } from '../storage/syncs.ts'
import { Later } from '../util/later.ts'
import { Cluster, type ClusterOptions } from './cluster.ts'
import type { Beginning, StandaloneCluster } from './standalone.ts'

/**
 * A cluster of one broker on a data directory: what it was is loaded when it is made, and once it is shut down in good order the
 * directory says so. It is not put back as one in memory is; see memory-cluster.ts.
 */

export interface DiskClusterOptions extends Omit<ClusterOptions, 'brokers' | 'floor' | 'clusterId'> {
  readonly platform: RecordsPlatform
  /** Locked for this process, and given back by {@link DiskCluster.shutdown}. */
  readonly storage: Storage
  /** What `openDataDirectory` found. */
  readonly directory: DataDirectory
}

export class DiskCluster implements StandaloneCluster {
  readonly cluster: Cluster
  readonly #options: DiskClusterOptions
  #ended: Later<StorageFailure | undefined> | undefined

  /** @throws StorageError when what is on the disk cannot be read */
  constructor(options: DiskClusterOptions) {
    this.#options = options
    const { storage, platform, directory } = options
    const { nodeId: id, brokerEpoch: previousBrokerEpoch, clusterId } = directory
    this.cluster = new Cluster({ ...options, clusterId, brokers: [{ id, storage, platform, previousBrokerEpoch }] })
    this.broker.replicas.directory.foundClosed(directory.cleanShutdown)
    // The broker knows nothing yet; what the controller has decided is loaded.
    this.broker.replicas.setStraysAside(this.cluster.image)
  }

  get clusterId(): string {
    return this.cluster.clusterId
  }

  get broker(): Broker {
    return this.cluster.broker(this.#options.directory.nodeId)
  }

  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection {
    return this.broker.connect(sink, peer)
  }

  /** Tells the cluster where it listens and makes its topics. Settles with why one was refused, or undefined. */
  start({ host, port, topics }: Beginning): Later<KafkaError | undefined> {
    const { env, storage } = this.#options
    const begun = new Later<KafkaError | undefined>(env.turns)
    // The mark of the last good stop has to be gone before anything is promised that it would be wrong about.
    storage.syncDirectory('').whenSettled(failure => {
      if (failure) env.log('error', 'the data directory cannot be brought to the disk', { error: failure.message })
      this.broker.register(host, port).whenSettled(() => {
        this.cluster.createTopics(topics).whenSettled(refused => begun.settle(refused))
      })
    })
    return begun
  }

  /**
   * Ends in good order: answers what waits, brings everything to the disk, which marks the directory if it went well, and gives it
   * back. Settles with what went wrong.
   */
  shutdown(): Later<StorageFailure | undefined> {
    if (this.#ended !== undefined) return this.#ended
    const { storage, env } = this.#options
    const ended = new Later<StorageFailure | undefined>(env.turns)
    this.#ended = ended
    const { broker } = this
    this.cluster.shutdown().whenSettled(() => {
      const closing = [this.cluster.metadataLog.close(), broker.replicas.directory.close(broker.brokerEpoch)]
      allOf(env.turns, closing).whenSettled(failure => {
        if (failure) env.log('error', 'the logs were not closed in good order', { error: failure.message })
        storage.close().whenSettled(closeFailure => ended.settle(failure ?? closeFailure))
      })
    })
    return ended
  }
}
