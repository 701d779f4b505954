import type { Log, LogConfig } from '../log/log.ts'
import { LogDirectory } from '../log/log-directory.ts'
import { KafkaError } from '../protocol/errors.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage, StorageFailure, StorageUsage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import type { BrokerConfig } from './configs/broker-config.ts'
import { logConfigOf } from './configs/log-config.ts'
import { TopicConfig } from './configs/topic-config.ts'
import { isInternalTopic } from './internal-topics.ts'
import { LogUpkeep } from './log-upkeep.ts'
import { isActive, type MetadataImage, type PartitionImage, RESOURCE_TYPE, type TopicImage } from './metadata/image.ts'
import { NO_LEADER_EPOCH, Partition } from './partition.ts'
import type { Purgatory } from './purgatory.ts'

/**
 * The partitions of which this broker has a replica (`ReplicaManager`): made, changed and deleted as the metadata says, looked
 * up by requests, kept in order by retention.
 */
export class Replicas {
  readonly #brokerId: number
  readonly #env: Env
  readonly #storage: Storage
  /** Where the logs are. */
  readonly directory: LogDirectory
  readonly #upkeep: LogUpkeep
  readonly #platform: RecordsPlatform
  readonly #image: MetadataImage
  readonly #config: BrokerConfig
  readonly #purgatory: Purgatory
  readonly #forgetProducers: boolean
  readonly #askForIsr: (partition: Partition) => void
  readonly #failed: (partition: Partition) => void
  readonly #toClean: () => void
  readonly #byTopicId = new Map<string, Partition[]>()

  constructor(options: {
    brokerId: number
    env: Env
    storage: Storage
    platform: RecordsPlatform
    image: MetadataImage
    config: BrokerConfig
    purgatory: Purgatory
    forgetProducers?: boolean
    /** Whether another process may find the storage as this one leaves it, even one in memory. */
    outlivesProcess: boolean
    /** See `PartitionOptions.askForIsr`. */
    askForIsr: (partition: Partition) => void
    /** See `PartitionOptions.failed`. */
    failed: (partition: Partition) => void
    /** See `LogListener`. */
    toClean: () => void
  }) {
    this.#brokerId = options.brokerId
    this.#env = options.env
    this.#storage = options.storage
    this.directory = new LogDirectory({ ...options, keepsTopicIds: options.outlivesProcess })
    this.#platform = options.platform
    this.#image = options.image
    this.#config = options.config
    this.#purgatory = options.purgatory
    this.#forgetProducers = options.forgetProducers ?? false
    this.#askForIsr = options.askForIsr
    this.#failed = options.failed
    this.#toClean = options.toClean
    this.#upkeep = new LogUpkeep({
      env: options.env,
      partitions: () => this.all(),
      hasLog: name => this.directory.has(name),
      unchecked: () => this.directory.unchecked,
      retained: partition => this.#purgatory.wake(partition.key),
    })
  }

  /**
   * The partition of a topic by name, or the error that a client gets. A client that believes in another leader epoch is told
   * that first, wherever it asks.
   */
  leader(topic: string, index: number, currentLeaderEpoch = NO_LEADER_EPOCH): Partition {
    const image = this.#image.topicsByName.get(topic)
    if (image === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    this.find(image.topicId, index)?.checkLeaderEpoch(currentLeaderEpoch)
    return this.leaderById(image.topicId, index)
  }

  /** The partition of a topic by id; what is not known here is UNKNOWN_TOPIC_OR_PARTITION. */
  leaderById(topicId: string, index: number): Partition {
    const partition = this.#byTopicId.get(topicId)?.[index]
    if (partition === undefined) {
      const exists = this.#image.topicsById.get(topicId)?.partitions[index] !== undefined
      throw new KafkaError(exists ? 'NOT_LEADER_OR_FOLLOWER' : 'UNKNOWN_TOPIC_OR_PARTITION')
    }
    if (!partition.isLeader) throw new KafkaError('NOT_LEADER_OR_FOLLOWER')
    return partition
  }

  /** The partition for a reader: whoever may read from followers need not find the leader. */
  readable(topic: string, index: number, fromFollowers: boolean): Partition {
    const topicId = this.#image.topicsByName.get(topic)?.topicId
    const follower = fromFollowers && topicId !== undefined ? this.find(topicId, index) : undefined
    return follower ?? this.leader(topic, index)
  }

  /** The partition if this broker has a replica of it, whether it leads or not. */
  find(topicId: string, index: number): Partition | undefined {
    return this.#byTopicId.get(topicId)?.[index]
  }

  /** Every partition here. */
  *all(): Iterable<Partition> {
    for (const partitions of this.#byTopicId.values())
      for (const partition of partitions) if (partition) yield partition
  }

  /**
   * The log of a partition for those who look on: opened if it has files, and undefined where nothing was ever written or where it is
   * offline.
   */
  existingLog(partition: Partition | undefined): Log | undefined {
    if (partition === undefined || partition.openedLog !== undefined || partition.gone) return partition?.openedLog
    const exists = this.directory.has(`${partition.topic}-${partition.index}`)
    return exists && partition.tryOpen() ? partition.openedLog : undefined
  }

  /** A partition came into being, or changed. Returns it when it is one of ours, or was until now. */
  update(topic: TopicImage, image: PartitionImage): Partition | undefined {
    const partitions = this.#byTopicId.get(topic.topicId) ?? []
    const present = partitions[image.partitionId]
    const isOurs = image.replicas.includes(this.#brokerId)
    if (present !== undefined && isOurs) {
      present.update(image)
      return present
    }
    if (present !== undefined) {
      delete partitions[image.partitionId]
      present.delete('NOT_LEADER_OR_FOLLOWER')
      return present
    }
    if (!isOurs) return undefined
    const partition = this.#make(topic, image)
    partitions[image.partitionId] = partition
    this.#byTopicId.set(topic.topicId, partitions)
    return partition
  }

  #make(topic: TopicImage, image: PartitionImage): Partition {
    const key = `${topic.topicId}-${image.partitionId}`
    const topicPartition = `${topic.name}-${image.partitionId}`
    return new Partition({
      topic: topic.name,
      topicId: topic.topicId,
      image,
      brokerId: this.#brokerId,
      config: () => this.topicConfig(topic.name),
      changed: () => this.#purgatory.wake(key),
      now: () => this.#env.now(),
      lagTimeMaxMs: () => this.#config.number('replica.lag.time.max.ms'),
      isEligible: (brokerId, brokerEpoch) => {
        const broker = this.#image.brokers.get(brokerId)
        return isActive(broker) && (brokerEpoch === -1 || brokerEpoch === broker?.brokerEpoch)
      },
      askForIsr: this.#askForIsr,
      openLog: listener =>
        this.directory.open(topicPartition, topic.topicId, {
          // Producers that have used up all room must not keep consumers from joining and committing.
          exempt: isInternalTopic(topic.name),
          config: this.#logConfig(topic.name),
          platform: this.#platform,
          forgetProducers: this.#forgetProducers,
          listener: { ...listener, toClean: this.#toClean },
        }),
      deleteLog: () => this.directory.delete(topicPartition, topic.topicId),
      failed: partition => this.#failed(partition),
    })
  }

  /** The topic is deleted: its partitions end, and whoever waits for them is told. */
  remove(topicId: string): void {
    const partitions = this.#byTopicId.get(topicId)
    this.#byTopicId.delete(topicId)
    for (const partition of partitions ?? []) partition?.delete()
  }

  topicConfig(topic: string): TopicConfig {
    return new TopicConfig(this.#image.configsOf(RESOURCE_TYPE.topic, topic), this.#config)
  }

  #logConfig(topic: string): LogConfig {
    const config = logConfigOf(this.topicConfig(topic), this.#config)
    // Kafka waits for readers of the file. Here they hold what they read, so the room may be had again at once.
    return this.#storage.isVolatile ? { ...config, fileDeleteDelayMs: 0 } : config
  }

  /** Configs of a topic, or of all, changed. */
  reconfigure(topic?: string): void {
    const partitions = topic === undefined ? this.all() : this.#of(topic)
    for (const partition of partitions) {
      partition.reconfigure(this.#logConfig(partition.topic))
    }
  }

  /** The partitions of one topic that are here. */
  #of(topic: string): Partition[] {
    const topicId = this.#image.topicsByName.get(topic)?.topicId
    const partitions = topicId === undefined ? undefined : this.#byTopicId.get(topicId)
    return partitions?.filter(partition => partition !== undefined) ?? []
  }

  /** Logs that are none of this broker's any more, by what it knows or by another image, move out of the way. */
  setStraysAside(image = this.#image): void {
    this.directory.setStraysAside((topic, partition, topicId) => {
      const known = image.topicsByName.get(topic)
      const isOurs = known?.partitions[partition]?.replicas.includes(this.#brokerId) ?? false
      return isOurs && (topicId === undefined || topicId === known?.topicId)
    })
  }

  /** Followers that have not kept up leave the in-sync replicas. */
  shrinkIsrs(): void {
    for (const partition of this.all()) partition.shrinkIsr()
  }

  /** Begins to look after the logs from time to time: what is on a disk has to be written down now and then. */
  start(): void {
    if (!this.#storage.isVolatile) this.#upkeep.start()
    this.directory.start({
      recoveryPointMs: this.#config.number('log.flush.offset.checkpoint.interval.ms'),
      highWatermarkMs: this.#config.number('replica.high.watermark.checkpoint.interval.ms'),
      logStartOffsetMs: this.#config.number('log.flush.start.offset.checkpoint.interval.ms'),
    })
  }

  /** Closes all logs: everything is on the disk then, and nothing has to be read at the next start. */
  close(): Later<StorageFailure | undefined> {
    this.cancel()
    return this.directory.close()
  }

  /** Where the logs are kept, and how much room there is. */
  storageUsage(): StorageUsage {
    return this.#storage.usage()
  }

  /** Drops what retention no longer keeps. */
  applyRetention(): void {
    this.#upkeep.applyRetention()
  }

  /** Nothing is done by itself any more. */
  cancel(): void {
    this.#upkeep.stop()
    this.directory.cancel()
  }
}
