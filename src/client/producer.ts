/**
 * A producer: collects records into batches per partition, sends them to the leaders, and tries again until they are stored
 * or their time is over. Idempotent unless told otherwise, so that trying again stores nothing twice (KIP-98, KIP-360).
 * Transactions are not here. Follows KafkaProducer, RecordAccumulator and Sender.
 */

import type { RecordHeader } from '../records/batch-builder.ts'
import type { CodecName } from '../records/compression.ts'
import { Later } from '../util/later.ts'
import type { KafkaClient } from './client.ts'
import type { Topic } from './metadata-cache.ts'
import { withDefaults } from './options.ts'
import { javaPartitioner, type Partitioner } from './partitioner.ts'
import type { Pending, RecordMetadata } from './produce-queue.ts'
import { DONE, type Failure, fail, type Result } from './result.ts'
import { Sender } from './sender.ts'
import { all } from './task.ts'

export interface ProducerOptions {
  /** −1: all in-sync replicas have it (default). 1: the leader has it. 0: nobody answers. */
  readonly acks?: -1 | 0 | 1
  /** Whether the broker drops what it has already. Default: true with acks −1, else false; true demands acks −1. */
  readonly idempotent?: boolean
  /** Default `none`. */
  readonly compression?: CodecName
  /** How long a batch waits to be filled. 0, the default, sends at the end of the turn. */
  readonly lingerMs?: number
  /** A batch that reaches this many bytes is sent at once. Default 16384. */
  readonly batchBytes?: number
  /** A request holds no more than this, unless it is one batch. Default 1048576. */
  readonly maxRequestBytes?: number
  /** Batches per partition that may be on their way, at most 5, which is what a broker remembers. 1 unless idempotent. */
  readonly maxInFlightPerPartition?: number
  /** From `send` until a record counts as lost. Default 120000. */
  readonly deliveryTimeoutMs?: number
  /** How long the broker may wait for the in-sync replicas. Default 30000. */
  readonly timeoutMs?: number
  /** How long to wait for a topic to appear. Default 60000. */
  readonly maxBlockMs?: number
  /** Default: that of the Java producer. */
  readonly partitioner?: Partitioner
}

/** A record to send. */
export interface ProducerRecord {
  readonly topic: string
  /** The partitioner decides when left out. */
  readonly partition?: number
  readonly key?: Uint8Array | null
  /** Null, also by default, is a tombstone in compacted topics. */
  readonly value?: Uint8Array | null
  readonly headers?: readonly RecordHeader[]
  /** Milliseconds since 1970; now when left out. */
  readonly timestamp?: number
}

const DEFAULTS = {
  acks: -1 as -1 | 0 | 1,
  compression: 'none' as CodecName,
  lingerMs: 0,
  batchBytes: 16_384,
  maxRequestBytes: 1_048_576,
  maxInFlightPerPartition: 5,
  deliveryTimeoutMs: 120_000,
  timeoutMs: 30_000,
  maxBlockMs: 60_000,
}

/**
 * Sends records.
 *
 * @example
 * const producer = new Producer(client, { compression: 'gzip' })
 * producer.send({ topic: 'orders', key: utf8Encode('42'), value: utf8Encode('{}') }).whenSettled(result => {
 *   if (result.ok) console.log(result.value.partition, result.value.offset)
 * })
 */
export class Producer {
  readonly #client: KafkaClient
  readonly #options: typeof DEFAULTS & ProducerOptions
  readonly #idempotent: boolean
  readonly #partitioner: Partitioner
  readonly #sender: Sender
  /** Records whose topic is not known yet, in the order of their sending. */
  readonly #unplaced = new Map<string, { record: ProducerRecord; pending: Pending }[]>()
  readonly #outstanding = new Set<Later<Result<RecordMetadata>>>()
  #closed = false

  constructor(client: KafkaClient, options: ProducerOptions = {}) {
    this.#client = client
    this.#options = withDefaults(DEFAULTS, options)
    this.#idempotent = options.idempotent ?? this.#options.acks === -1
    this.#sender = new Sender(client, { ...this.#options, idempotent: this.#idempotent })
    this.#partitioner = options.partitioner ?? javaPartitioner(() => client.env.random(), this.#options.batchBytes)
  }

  /**
   * Sends a record. Settles with where it lies, or with why it does not: OTTLA_DELIVERY_TIMEOUT when its time is over, else
   * what the broker said.
   */
  send(record: ProducerRecord): Later<Result<RecordMetadata>> {
    const reply = new Later<Result<RecordMetadata>>(this.#client.env.turns)
    const refusal = this.#refuse()
    if (refusal !== undefined) {
      reply.settle(refusal)
      return reply
    }
    const { key = null, value = null, headers, timestamp = this.#client.env.now() } = record
    const pending: Pending = { record: { key, value, headers, timestamp }, reply }
    this.#outstanding.add(reply)
    reply.whenSettled(() => this.#outstanding.delete(reply))
    const waiting = this.#unplaced.get(record.topic)
    const topic = this.#client.metadata.topic(record.topic)
    if (waiting !== undefined) waiting.push({ record, pending })
    else if (topic === undefined) this.#learn(record, pending)
    else this.#place(topic, record, pending)
    return reply
  }

  #refuse(): Failure | undefined {
    if (this.#closed) return fail('OTTLA_CLIENT_CLOSED', 'the producer is closed')
    if (this.#idempotent && this.#options.acks !== -1) {
      return fail('OTTLA_INVALID_ARGUMENT', 'an idempotent producer needs acks -1')
    }
    return undefined
  }

  /** Sends everything now; settles when all that was sent before has its answer, be it good or bad. */
  flush(): Later<Result<void>> {
    const endFlush = this.#sender.beginFlush()
    return all(this.#client.env.turns, [...this.#outstanding]).map(() => {
      endFlush()
      return DONE
    })
  }

  /** Flushes, then takes no more. */
  close(): Later<Result<void>> {
    this.#closed = true
    return this.flush().map(result => {
      this.#sender.close()
      return result
    })
  }

  #learn(record: ProducerRecord, pending: Pending): void {
    const waiting = [{ record, pending }]
    this.#unplaced.set(record.topic, waiting)
    this.#client.topics([record.topic], this.#options.maxBlockMs).whenSettled(result => {
      this.#unplaced.delete(record.topic)
      const topic = this.#client.metadata.topic(record.topic)
      for (const each of waiting) {
        if (topic !== undefined) this.#place(topic, each.record, each.pending)
        else each.pending.reply.settle(result.ok ? fail('UNKNOWN_TOPIC_OR_PARTITION') : result)
      }
    })
  }

  #place(topic: Topic, record: ProducerRecord, pending: Pending): void {
    const { key = null, value = null } = pending.record
    const bytes = 24 + (key?.length ?? 0) + (value?.length ?? 0)
    const partition = record.partition ?? this.#partitioner(topic, key, bytes)
    if (topic.partitions[partition] === undefined) {
      pending.reply.settle(fail('OTTLA_INVALID_ARGUMENT', `topic ${topic.name} has no partition ${partition}`))
      return
    }
    this.#sender.append(topic.name, partition, pending, bytes)
  }
}
