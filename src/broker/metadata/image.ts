import type { TopicOverrides } from '../configs/topic-config.ts'
import { collisionKey } from '../topic-names.ts'
import { includesReplica, joinedReplicas, type OfflineReplicas, withoutReplica } from './offline-replicas.ts'
import { Quotas } from './quotas.ts'
import type { AppliedRecord } from './records.ts'
import { ScramCredentials } from './scram.ts'

/**
 * The cluster as somebody knows it: brokers, topics, configs, built from the metadata records that reached them. The
 * controller has one, every broker its own, and a broker that was cut off has an old one (Kafka's `MetadataImage`).
 */

export interface BrokerImage {
  readonly brokerId: number
  readonly brokerEpoch: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
  /** True until it has shown that it is up to date, and again when nothing is heard of it. */
  readonly fenced: boolean
  readonly incarnationId: string
  readonly inControlledShutdown: boolean
  /** Replicas of it that cannot be used, though it lives. */
  readonly offlineReplicas: readonly OfflineReplicas[]
}

/** True for brokers that may lead and be in sync. */
export function isActive(broker: BrokerImage | undefined): boolean {
  return broker !== undefined && !broker.fenced && !broker.inControlledShutdown
}

export interface PartitionImage {
  readonly partitionId: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  /** −1 when there is none. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly partitionEpoch: number
  /** Replicas that a reassignment adds, and those that it removes once the others are in sync. */
  readonly addingReplicas: readonly number[]
  readonly removingReplicas: readonly number[]
  /** Eligible leader replicas (KIP-966): not in sync, but they have everything below the high watermark. */
  readonly elr: readonly number[]
  readonly lastKnownElr: readonly number[]
  /** 1 after an unclean election, until the new leader has changed the in-sync replicas. */
  readonly leaderRecoveryState: number
}

export interface TopicImage {
  readonly name: string
  readonly topicId: string
  /** By partition number, without gaps. */
  readonly partitions: PartitionImage[]
}

/** Config resources, as the protocol numbers them. */
export const RESOURCE_TYPE = { topic: 2, broker: 4, brokerLogger: 8, clientMetrics: 16, group: 32 } as const

const NO_OVERRIDES: TopicOverrides = new Map()

export class MetadataImage {
  readonly brokers = new Map<number, BrokerImage>()
  readonly topicsByName = new Map<string, TopicImage>()
  readonly topicsById = new Map<string, TopicImage>()
  /** No two topics collide, so there is one name for each key. */
  readonly #namesByCollisionKey = new Map<string, string>()
  readonly #configs = new Map<string, Map<string, string>>()
  readonly quotas = new Quotas()
  readonly scram = new ScramCredentials()
  nextProducerId = 0

  /** The values that were set for a resource; an empty map when there are none. */
  configsOf(resourceType: number, resourceName: string): ReadonlyMap<string, string> {
    return this.#configs.get(`${resourceType}/${resourceName}`) ?? NO_OVERRIDES
  }

  /** The names of the resources of a type for which anything is set. */
  configuredResources(resourceType: number): string[] {
    const prefix = `${resourceType}/`
    return [...this.#configs.keys()].filter(key => key.startsWith(prefix)).map(key => key.slice(prefix.length))
  }

  /** Everything that is set, resource by resource. */
  *allConfigs(): Iterable<{ resourceType: number; resourceName: string; values: ReadonlyMap<string, string> }> {
    for (const [key, values] of this.#configs) {
      const slash = key.indexOf('/')
      yield { resourceType: Number(key.slice(0, slash)), resourceName: key.slice(slash + 1), values }
    }
  }

  /** The topic whose name differs from this one in nothing but `.` and `_`. */
  collidingTopic(name: string): string | undefined {
    return this.#namesByCollisionKey.get(collisionKey(name))
  }

  partition(name: string, index: number): PartitionImage | undefined {
    return this.topicsByName.get(name)?.partitions[index]
  }

  /** Whether a replica is known to have failed though its broker lives. */
  isReplicaOffline(brokerId: number, topicId: string, partitionId: number): boolean {
    const broker = this.brokers.get(brokerId)
    return broker !== undefined && includesReplica(broker.offlineReplicas, topicId, partitionId)
  }

  /** The only way in which an image changes. */
  apply(record: AppliedRecord): void {
    switch (record.type) {
      case 'registerBroker':
        this.brokers.set(record.brokerId, record)
        return
      case 'brokerChange':
        this.#changeBroker(record)
        return
      case 'unregisterBroker':
        this.brokers.delete(record.brokerId)
        return
      case 'topic': {
        const topic: TopicImage = { name: record.name, topicId: record.topicId, partitions: [] }
        this.topicsByName.set(topic.name, topic)
        this.topicsById.set(topic.topicId, topic)
        this.#namesByCollisionKey.set(collisionKey(topic.name), topic.name)
        return
      }
      case 'partition': {
        const topic = this.topicsById.get(record.topicId)
        if (topic === undefined) return
        topic.partitions[record.partitionId] = record
        // One that is made there again later is another one.
        this.#dropOffline(record.topicId, record.partitionId, record.replicas)
        return
      }
      case 'removeTopic':
        this.#removeTopic(record.topicId)
        return
      case 'config':
        this.#setConfig(record.resourceType, record.resourceName, record.name, record.value)
        return
      case 'clientQuota':
        this.quotas.set(record.entity, record.key, record.remove ? null : record.value)
        return
      case 'scramCredential':
        this.scram.set(record)
        return
      case 'removeScramCredential':
        this.scram.remove(record.name, record.mechanism)
        return
      case 'producerIds':
        this.nextProducerId = record.nextProducerId
    }
  }

  #changeBroker(record: AppliedRecord & { type: 'brokerChange' }): void {
    const { brokerId, brokerEpoch, fenced, inControlledShutdown } = record
    const broker = this.brokers.get(brokerId)
    if (broker?.brokerEpoch !== brokerEpoch) return
    const offlineReplicas = joinedReplicas(broker.offlineReplicas, record.offlineReplicas, (topicId, partitionId) => {
      const partition: PartitionImage | undefined = this.topicsById.get(topicId)?.partitions[partitionId]
      return partition?.replicas.includes(brokerId) ?? false
    })
    this.brokers.set(brokerId, { ...broker, fenced, inControlledShutdown, offlineReplicas })
  }

  /** Forgets that replicas of a topic, or of one partition on other brokers than these, are offline: there are none. */
  #dropOffline(topicId: string, partitionId?: number, replicas: readonly number[] = []): void {
    for (const broker of this.brokers.values()) {
      if (broker.offlineReplicas.length === 0 || replicas.includes(broker.brokerId)) continue
      const offlineReplicas = withoutReplica(broker.offlineReplicas, topicId, partitionId)
      this.brokers.set(broker.brokerId, { ...broker, offlineReplicas })
    }
  }

  #removeTopic(topicId: string): void {
    const topic = this.topicsById.get(topicId)
    if (topic === undefined) return
    this.#dropOffline(topicId)
    this.topicsById.delete(topicId)
    this.topicsByName.delete(topic.name)
    this.#namesByCollisionKey.delete(collisionKey(topic.name))
    this.#configs.delete(`${RESOURCE_TYPE.topic}/${topic.name}`)
  }

  #setConfig(resourceType: number, resourceName: string, name: string, value: string | null): void {
    const key = `${resourceType}/${resourceName}`
    const configs = this.#configs.get(key) ?? new Map<string, string>()
    if (value === null) configs.delete(name)
    else configs.set(name, value)
    if (configs.size === 0) this.#configs.delete(key)
    else this.#configs.set(key, configs)
  }
}
