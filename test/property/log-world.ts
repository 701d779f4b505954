/**
 * Partitions of one topic on the broker, one call per act of a history: batches of numbered producers, retention, DeleteRecords,
 * and one consumer that assigns itself all partitions and commits for a group without members.
 */

import {
  ClientError,
  Consumer,
  commitOffsets,
  committedOffsets,
  type OffsetReset,
  type TopicPartition,
} from '../../src/client/index.ts'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { incrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { initProducerId } from '../../src/protocol/apis/init-producer-id.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { World } from './world.ts'

const TOPIC = 'log'
const GROUP = 'reader'
const TOPIC_RESOURCE = 2
const RETENTION_CHECK_MS = 1_000

export interface Numbered {
  producerId: number
  epoch: number
  sequence: number
}

export interface NewRecord {
  value: string
  timestamp: number
}

/** A batch that was appended, as retention counts: whole. */
export interface StoredBatch {
  baseOffset: number
  lastOffset: number
  /** The time of its newest record. */
  newest: number
  bytes: number
}

export class LogWorld {
  readonly world: World
  readonly consumer: Consumer
  readonly #partitions: TopicPartition[]

  constructor(partitions: number, segmentBytes: number, autoOffsetReset: OffsetReset | 'none') {
    const configs = {
      'internal.segment.bytes': String(segmentBytes),
      'retention.ms': '-1',
    }
    const brokerConfigs = { 'log.retention.check.interval.ms': String(RETENTION_CHECK_MS) }
    this.world = new World([{ name: TOPIC, partitions, configs }], brokerConfigs)
    this.#partitions = [...Array(partitions).keys()].map(partition => ({ topic: TOPIC, partition }))
    this.consumer = new Consumer(this.world.client, { autoOffsetReset, maxPollRecords: 1, maxWaitMs: 10 })
    this.consumer.assign(this.#partitions)
    for (const each of this.#partitions) {
      if (autoOffsetReset === 'none') this.consumer.seek(each, 0)
      this.world.good(this.consumer.position(each))
    }
  }

  get now(): number {
    return this.world.env.now()
  }

  initProducerId(): number {
    const { client } = this.world
    const body = { transactionalId: null, transactionTimeoutMs: 60_000 }
    return this.world.good(client.request(initProducerId, body)).producerId
  }

  produce(partition: number, numbered: Numbered | undefined, records: readonly NewRecord[]) {
    const batch = {
      records: records.map(({ value, timestamp }) => ({ value: utf8Encode(value), timestamp })),
      ...(numbered && {
        producerId: numbered.producerId,
        producerEpoch: numbered.epoch,
        baseSequence: numbered.sequence,
      }),
    }
    return this.world.produce(TOPIC, partition, batch)
  }

  bounds(partition: number): { start: number; end: number } {
    return this.world.bounds(TOPIC, partition)
  }

  /** The error's name, or NONE. */
  deleteRecordsBefore(partition: number, offset: number): string {
    const topics = [{ name: TOPIC, partitions: [{ partitionIndex: partition, offset }] }]
    const answer = this.world.good(this.world.client.request(deleteRecords, { topics, timeoutMs: 1000 }, { broker: 1 }))
    return errorName(answer.topics[0].partitions[0].errorCode)
  }

  /** Has retention run once with this config; answers when it ran. */
  retain(name: 'retention.ms' | 'retention.bytes', value: number): number {
    this.#configure(name, value)
    const { env, startedAt } = this.world
    env.advance(RETENTION_CHECK_MS - ((env.now() - startedAt) % RETENTION_CHECK_MS))
    this.#configure(name, -1)
    return env.now()
  }

  #configure(name: string, value: number): void {
    const configs = [{ name, configOperation: 0, value: String(value) }]
    const resources = [{ resourceType: TOPIC_RESOURCE, resourceName: TOPIC, configs }]
    const { client } = this.world
    const answer = this.world.good(client.request(incrementalAlterConfigs, { resources, validateOnly: false }))
    const { errorCode, errorMessage } = answer.responses[0]
    if (errorCode !== 0) throw new Error(errorMessage ?? errorName(errorCode))
  }

  /** The next records of one partition, or the name of the error. */
  poll(partition: number, max: number): { offset: number; value: string; timestamp: number }[] | string {
    const place = this.#partitions[partition]
    for (const other of this.#partitions) this.consumer.pause(other)
    this.consumer.resume(place)
    // What was fetched ahead is forgotten: retention may have taken it since, and the broker is to say so.
    const position = this.consumer.positionNow(place)
    if (position !== undefined) this.consumer.seek(place, position.offset, position.leaderEpoch)
    const { end } = this.bounds(partition)
    const records: { offset: number; value: string; timestamp: number }[] = []
    for (let empty = 0; records.length < max && this.consumer.positionNow(place)?.offset !== end; ) {
      const polled = this.world.wait(this.consumer.poll(100))
      if (!polled.ok) return polled.error.code
      for (const { offset, value, timestamp } of polled.value) {
        records.push({ offset, value: utf8Decode(value!), timestamp })
      }
      empty = polled.value.length > 0 ? 0 : empty + 1
      if (empty > 20) throw new ClientError('OTTLA_NO_OFFSET', `nothing more comes from partition ${partition}`)
    }
    return records
  }

  position(partition: number): number | undefined {
    return this.consumer.positionNow(this.#partitions[partition])?.offset
  }

  seek(partition: number, offset: number): void {
    this.consumer.seek(this.#partitions[partition], offset)
  }

  /** Goes to the first record of that time, or to the end. */
  seekToTime(partition: number, timestamp: number): void {
    const place = this.#partitions[partition]
    const found = this.world.good(this.consumer.offsetsForTimes([{ ...place, timestamp }]))
    const { offset } = found.get(`${TOPIC}:${partition}`)!
    this.seek(partition, offset >= 0 ? offset : this.bounds(partition).end)
  }

  commit(offsets: readonly { partition: number; offset: number }[]): void {
    const { client } = this.world
    this.world.good(
      client.run(
        commitOffsets(
          client,
          GROUP,
          offsets.map(each => ({ topic: TOPIC, ...each })),
        ),
      ),
    )
  }

  committed(): number[] {
    const { client } = this.world
    const found = this.world.good(client.run(committedOffsets(client, GROUP, this.#partitions)))
    return this.#partitions.map(({ partition }) => found.get(`${TOPIC}:${partition}`)?.offset ?? 0)
  }
}
