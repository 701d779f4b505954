/**
 * What the client was told of the cluster: brokers, topics with their ids, and who leads which partition in which epoch. It is
 * told by Metadata, and by brokers that name the new leader beside an error (KIP-951); an older epoch never overwrites a newer
 * one. It is refreshed when it is found wrong or old, not by a timer. Follows Metadata and MetadataCache of the Java client.
 */

import type { metadata } from '../protocol/apis/metadata.ts'
import type { Decoded } from '../protocol/dsl.ts'
import { errorName } from '../protocol/errors.ts'
import { ZERO_UUID } from '../util/uuid.ts'
import type { Address } from './pool.ts'
import type { ClientError } from './result.ts'
import { failureOf } from './result.ts'

export interface Broker extends Address {
  readonly nodeId: number
  readonly rack: string | null
}

export interface Partition {
  readonly partition: number
  /** −1: nobody leads it now. */
  readonly leaderId: number
  /** −1: not told. */
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
}

export interface Topic {
  readonly name: string
  /** The zero uuid when the broker is too old to tell. */
  readonly topicId: string
  readonly isInternal: boolean
  /** By number. */
  readonly partitions: readonly Partition[]
}

type MetadataResponse = Decoded<typeof metadata.response>
type TopicResponse = MetadataResponse['topics'][number]

export class MetadataCache {
  readonly #brokers = new Map<number, Broker>()
  readonly #topics = new Map<string, Topic>()
  readonly #errors = new Map<string, ClientError>()
  readonly #names = new Map<string, string>()
  clusterId: string | null = null
  controllerId = -1

  get brokers(): readonly Broker[] {
    return [...this.#brokers.values()]
  }

  broker(nodeId: number): Broker | undefined {
    return this.#brokers.get(nodeId)
  }

  topic(name: string): Topic | undefined {
    return this.#topics.get(name)
  }

  get topics(): readonly Topic[] {
    return [...this.#topics.values()]
  }

  /** Why a topic that was asked for is not there. */
  errorOf(name: string): ClientError | undefined {
    return this.#errors.get(name)
  }

  /** The name of a topic by its id; ids of topics that were deleted stay known, so that late answers can be read. */
  nameOf(topicId: string): string | undefined {
    return this.#names.get(topicId)
  }

  /** Id of a topic, the zero uuid when not known. */
  idOf(name: string): string {
    return this.#topics.get(name)?.topicId ?? ZERO_UUID
  }

  partition(topic: string, partition: number): Partition | undefined {
    return this.#topics.get(topic)?.partitions[partition]
  }

  /** Takes in a response to Metadata. */
  update(response: MetadataResponse): void {
    this.#brokers.clear()
    for (const { nodeId, host, port, rack } of response.brokers) this.#brokers.set(nodeId, { nodeId, host, port, rack })
    this.clusterId = response.clusterId
    this.controllerId = response.controllerId
    for (const topic of response.topics) this.#updateTopic(topic)
  }

  #updateTopic(told: TopicResponse): void {
    const name = told.name ?? this.#names.get(told.topicId)
    if (name === undefined) return
    const failure = failureOf(told.errorCode)
    if (failure !== undefined) {
      this.#errors.set(name, failure.error)
      // LEADER_NOT_AVAILABLE and the like say nothing about what was known; these two say that it is gone.
      const code = errorName(told.errorCode)
      if (code === 'UNKNOWN_TOPIC_OR_PARTITION' || code === 'UNKNOWN_TOPIC_ID') this.#topics.delete(name)
      return
    }
    this.#errors.delete(name)
    const known = this.#topics.get(name)
    const same = known !== undefined && known.topicId === told.topicId
    const partitions: Partition[] = []
    for (const each of told.partitions) {
      const before = same ? known.partitions[each.partitionIndex] : undefined
      partitions[each.partitionIndex] =
        before !== undefined && each.leaderEpoch !== -1 && before.leaderEpoch > each.leaderEpoch
          ? before
          : {
              partition: each.partitionIndex,
              leaderId: each.leaderId,
              leaderEpoch: each.leaderEpoch,
              replicas: each.replicaNodes,
              isr: each.isrNodes,
            }
    }
    if (told.topicId !== ZERO_UUID) this.#names.set(told.topicId, name)
    this.#topics.set(name, { name, topicId: told.topicId, isInternal: told.isInternal, partitions })
  }

  /**
   * Takes in what a broker said of the leader that replaced it. False when it said nothing new; then only Metadata helps.
   */
  updateLeader(
    topic: string,
    partition: number,
    leader: { leaderId: number; leaderEpoch: number },
    endpoints: readonly Broker[],
  ): boolean {
    const known = this.#topics.get(topic)
    const before = known?.partitions[partition]
    if (known === undefined || before === undefined || leader.leaderId < 0) return false
    if (leader.leaderEpoch <= before.leaderEpoch) return false
    for (const { nodeId, host, port, rack } of endpoints) this.#brokers.set(nodeId, { nodeId, host, port, rack })
    if (!this.#brokers.has(leader.leaderId)) return false
    const partitions = [...known.partitions]
    partitions[partition] = { ...before, ...leader }
    this.#topics.set(topic, { ...known, partitions })
    return true
  }
}
