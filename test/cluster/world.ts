/**
 * A cluster of three in virtual time, driven by requests to the broker that is named: no sockets, no client that would try again or ask
 * somebody else. It says what brokers answer and what their logs hold.
 */

import { Cluster, type ClusterOptions } from '../../src/cluster/cluster.ts'
import { CONTROLLER } from '../../src/cluster/network.ts'
import type { Log } from '../../src/log/log.ts'
import { alterPartitionReassignments } from '../../src/protocol/apis/alter-partition-reassignments.ts'
import { createTopics } from '../../src/protocol/apis/create-topics.ts'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { listOffsets } from '../../src/protocol/apis/list-offsets.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { batchSize } from '../../src/records/batch-header.ts'
import { readRecords } from '../../src/records/batch-reader.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform, TestConnection } from '../broker/harness.ts'

export interface WorldOptions extends Partial<ClusterOptions> {
  brokers?: never
  count?: number
  racks?: readonly string[]
  env?: VirtualEnv
  storage?: () => MemoryStorage
}

/** For tests that have a hand in what brokers store: one storage for each as they are made. */
export function keptStorages<S extends MemoryStorage>(make: () => S): { storages: S[]; storage: () => S } {
  const storages: S[] = []
  const storage = () => {
    const made = make()
    storages.push(made)
    return made
  }
  return { storages, storage }
}

export class ClusterWorld {
  readonly env: VirtualEnv
  readonly cluster: Cluster
  readonly #connections = new Map<string, TestConnection>()

  constructor(configs: Record<string, string> = {}, options: WorldOptions = {}) {
    const { count = 3, racks = [], env = new VirtualEnv(), ...more } = options
    const { storage = () => new MemoryStorage({ turns: env.turns }) } = options
    this.env = env
    this.cluster = new Cluster({
      env,
      ...more,
      brokers: Array.from({ length: count }, (_, index) => ({
        id: index + 1,
        storage: storage(),
        platform,
        rack: racks[index],
      })),
      controllerStorage: storage(),
      configs: { 'group.initial.rebalance.delay.ms': '0', 'offsets.topic.num.partitions': '3', ...configs },
      onFatal: error => {
        throw error
      },
    })
    for (let id = 1; id <= count; id++) this.cluster.broker(id).register('broker', 9000 + id)
    env.settle()
  }

  /** A connection to a broker, as it is now: a new one after it was started again. */
  to(id: number): TestConnection {
    const broker = this.cluster.broker(id)
    const key = `${id}/${broker.brokerEpoch}`
    let connection = this.#connections.get(key)
    if (connection === undefined || connection.closed) {
      connection = new TestConnection(this.env, this.cluster, 'test', id)
      this.#connections.set(key, connection)
    }
    return connection
  }

  /** Makes a topic with one partition for each list of replicas. */
  topic(name: string, assignments: number[][], configs: Record<string, string> = {}): void {
    const answer = this.to(this.#anyBroker()).send(createTopics, 7, {
      topics: [
        {
          name,
          numPartitions: -1,
          replicationFactor: -1,
          assignments: assignments.map((brokerIds, partitionIndex) => ({ partitionIndex, brokerIds })),
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 1000,
    })()
    const error = errorName(answer?.topics[0].errorCode as number)
    if (error !== 'NONE') throw new Error(`${name}: ${error}`)
    this.env.settle()
  }

  #anyBroker(): number {
    return this.cluster.brokers.find(({ id }) => this.cluster.node(id).isUp)?.id as number
  }

  /** How the controller has a partition. */
  partition(name: string, index = 0) {
    const found = this.cluster.image.partition(name, index)
    if (found === undefined) throw new Error(`there is no ${name}-${index}`)
    return found
  }

  /** How a broker believes that a partition is. */
  believed(broker: number, name: string, index = 0) {
    const { topics } = this.to(broker).call(metadata, 12, { topics: [{ name }], allowAutoTopicCreation: false })
    return topics[0].partitions[index]
  }

  /** Sends a record, or several in one batch, and gives back a function that says what was answered; undefined while nothing was. */
  produce(
    broker: number,
    name: string,
    values: string | string[],
    options: { acks?: number; timeoutMs?: number } = {},
  ) {
    const { acks = -1, timeoutMs = 1000 } = options
    const records = buildBatch({
      records: [values].flat().map(value => ({ value: utf8Encode(value), timestamp: this.env.now() })),
      crc32c: platform.crc32c,
    })
    const topicData = [{ name, partitionData: [{ index: 0, records }] }]
    // On a connection of its own: it may have to wait, and what else is asked does not.
    const connection = new TestConnection(this.env, this.cluster, 'test', broker)
    const answered = connection.send(produce, 9, { acks, timeoutMs, topicData })
    return () => {
      const answer = answered()
      return answer && errorName(answer.responses[0].partitionResponses[0].errorCode)
    }
  }

  /** The same, answered at once. */
  produced(
    broker: number,
    name: string,
    values: string | string[],
    options: { acks?: number; timeoutMs?: number } = {},
  ): string {
    const error = this.produce(broker, name, values, options)()
    if (error === undefined) throw new Error('not answered')
    return error
  }

  /** Asks for other replicas of partition 0, as many as are named. */
  reassign(name: string, replicas: number[] | null, broker = 1): string {
    const topics = [{ name, partitions: [{ partitionIndex: 0, replicas }] }]
    const answer = this.to(broker).call(alterPartitionReassignments, 1, { topics, timeoutMs: 1000 })
    return errorName(answer.responses[0].partitions[0].errorCode)
  }

  /** Deletes what lies before an offset of partition 0, and gives back the error and the low watermark. */
  deleted(broker: number, name: string, offset: number) {
    const topics = [{ name, partitions: [{ partitionIndex: 0, offset }] }]
    const answered = this.to(broker).send(deleteRecords, 2, { topics, timeoutMs: 5000 })
    // Followers hear of it with their next fetch.
    this.env.advance(1000)
    const answer = answered()
    if (answer === undefined) throw new Error('not answered')
    const { errorCode, lowWatermark } = answer.topics[0].partitions[0]
    return { error: errorName(errorCode), lowWatermark }
  }

  /** What a consumer reads of partition 0 at a broker, and the high watermark that it is told. */
  consumed(broker: number, name: string, offset = 0) {
    const topicId = this.cluster.image.topicsByName.get(name)?.topicId as string
    const partitions = [{ partition: 0, fetchOffset: offset, partitionMaxBytes: 1e6 }]
    const answer = this.to(broker).call(fetch, 13, { maxWaitMs: 0, minBytes: 0, topics: [{ topicId, partitions }] })
    const found = answer.responses[0].partitions[0]
    return {
      error: errorName(found.errorCode),
      highWatermark: found.highWatermark,
      values: valuesIn(found.records as Uint8Array),
    }
  }

  /** The end of partition 0 as consumers are told. */
  latest(broker: number, name: string) {
    const topics = [{ name, partitions: [{ partitionIndex: 0, timestamp: -1 }] }]
    const answer = this.to(broker).call(listOffsets, 6, { replicaId: -1, topics })
    const { errorCode, offset } = answer.topics[0].partitions[0]
    return errorCode === 0 ? offset : errorName(errorCode)
  }

  /** A broker's log of partition 0. */
  log(broker: number, name: string): Log {
    const { topicId } = this.cluster.image.topicsByName.get(name) as { topicId: string }
    const replica = this.cluster.broker(broker).replicas.find(topicId, 0)
    if (replica === undefined) throw new Error(`broker ${broker} has no replica of ${name}-0`)
    return replica.log
  }

  /** Everything in a broker's log of partition 0, replicated or not. */
  stored(broker: number, name: string): string[] {
    const log = this.log(broker, name)
    const values: string[] = []
    for (let offset = log.logStartOffset; offset < log.logEndOffset; ) {
      const { parts } = log.read(offset, { maxBytes: 1e6, minOneBatch: true, isolation: 'log_end' })
      const bytes = concat(parts)
      values.push(...valuesIn(bytes))
      for (let at = 0; at < bytes.length; at += batchSize(bytes, at)) {
        for (const record of readRecords(bytes, at, platform)) offset = record.offset + 1
      }
    }
    return values
  }

  /** Parts the network: nobody of one side reaches anybody of the other. The controller is on the second side. */
  part(ones: number[], others: number[]): void {
    for (const one of ones) for (const other of [...others, CONTROLLER]) this.cut(one, other)
  }

  cut(one: number, other: number): void {
    this.cluster.network.cut(one, other)
    this.cluster.network.cut(other, one)
  }

  heal(): void {
    const all = [CONTROLLER, ...this.cluster.brokers.map(({ id }) => id)]
    for (const one of all) for (const other of all) if (one !== other) this.cluster.network.heal(one, other)
  }
}

function valuesIn(bytes: Uint8Array): string[] {
  const values: string[] = []
  for (let at = 0; at < bytes.length; at += batchSize(bytes, at)) {
    for (const record of readRecords(bytes, at, platform)) values.push(utf8Decode(record.value as Uint8Array))
  }
  return values
}
