/**
 * A cluster in virtual time and our own client on it, without sockets, for histories that the model goes through as well.
 * It knows nothing of the model: it does what it is told, and says what the brokers said. Waiting is moving the clock from
 * one timer to the next.
 */

import type { Broker } from '../../src/broker/broker.ts'
import {
  type Channel,
  type ChannelEvents,
  createTopics,
  EARLIEST,
  findOffsets,
  KafkaClient,
  type KafkaClientOptions,
  LATEST,
  type Later,
  type NewTopic,
  type Result,
  type Transport,
} from '../../src/client/index.ts'
import { Cluster } from '../../src/cluster/index.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { type BatchInput, buildBatch } from '../../src/records/batch-builder.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform } from '../broker/harness.ts'
import { BrokerTransport } from '../client/broker-transport.ts'

/** Histories per property: more of them with PROPERTY_RUNS, for a night's work. */
export function runs(usual: number): number {
  return Number(process.env.PROPERTY_RUNS ?? usual)
}

export class World {
  readonly env = new VirtualEnv()
  readonly cluster: Cluster
  readonly transport: LossyTransport
  /** For whatever is no group's business. */
  readonly client: KafkaClient
  /** When the brokers' timers began to run. */
  readonly startedAt: number

  constructor(topics: NewTopic[], configs: Record<string, string> = {}, brokers = 1) {
    const { env } = this
    this.startedAt = env.now()
    const ids = [...Array(brokers).keys()].map(index => index + 1)
    this.cluster = new Cluster({
      env,
      brokers: ids.map(id => ({ id, storage: new MemoryStorage({ turns: env.turns }), platform })),
      configs: { 'group.initial.rebalance.delay.ms': '0', 'offsets.topic.num.partitions': '2', ...configs },
      onFatal: error => {
        throw error
      },
    })
    this.transport = new LossyTransport(env, brokers > 1 ? 1 : 0)
    for (const id of ids) {
      const broker = this.cluster.broker(id)
      broker.register('broker', 9000 + id)
      this.transport.listen(9000 + id, broker)
    }
    env.settle()
    this.client = this.connect()
    this.createTopics(topics)
    this.good(this.client.topics(topics.map(({ name }) => name)))
  }

  connect(more: Partial<KafkaClientOptions> = {}): KafkaClient {
    const { env, transport } = this
    const bootstrap = [{ host: 'broker', port: 9001 }]
    return new KafkaClient({ env, transport, bootstrap, platform, allowAutoTopicCreation: false, ...more })
  }

  createTopics(topics: NewTopic[]): void {
    for (const result of this.good(createTopics(this.client, topics)).values()) if (!result.ok) throw result.error
  }

  /** Moves the clock until `done`, no further than `ms`. False when the time is over. */
  until(done: () => boolean, ms = 120_000): boolean {
    this.env.settle()
    for (const end = this.env.now() + ms; !done(); ) {
      const due = this.env.nextDue
      if (due === undefined || due > end) return false
      this.env.advance(Math.max(0, due - this.env.now()))
    }
    return true
  }

  wait<T>(later: Later<T>): T {
    if (!this.until(() => later.settled)) throw new Error('nothing came within two minutes')
    return later.value
  }

  good<T>(later: Later<Result<T>>): T {
    const result = this.wait(later)
    if (!result.ok) throw result.error
    return result.value
  }

  /** The first and the end offset that consumers are told. */
  bounds(topic: string, partition: number): { start: number; end: number } {
    const ask = (timestamp: number) =>
      this.good(this.client.run(findOffsets(this.client, [{ topic, partition, timestamp }])))
    const offsetOf = (timestamp: number) => ask(timestamp).get(`${topic}:${partition}`)!.offset
    return { start: offsetOf(EARLIEST), end: offsetOf(LATEST) }
  }

  /** Sends one batch to the first broker, once: no producer of ours that would try again or number it anew. */
  produce(topic: string, partition: number, batch: BatchInput, options: { acks?: -1 | 1; timeoutMs?: number } = {}) {
    const { acks = -1, timeoutMs = 1000 } = options
    const bytes = buildBatch({ ...batch, crc32c: platform.crc32c })
    const known = this.good(this.client.topics([topic]))
    const partitionData = [{ index: partition, records: bytes }]
    const body = { acks, timeoutMs, topicData: [{ name: topic, topicId: known.idOf(topic), partitionData }] }
    const answer = this.good(this.client.request(produce, body, { broker: 1 }))
    const { errorCode, baseOffset } = answer.responses[0].partitionResponses[0]
    return { error: errorName(errorCode), offset: baseOffset, bytes: bytes.length }
  }
}

/** Carries bytes between clients and brokers, and loses an answer when told to. */
export class LossyTransport implements Transport {
  readonly #inner: BrokerTransport
  /** How many chunks from the brokers come through before one is lost, and every connection with it. */
  #before: number | undefined

  constructor(env: VirtualEnv, latencyMs: number) {
    // A reader above the high watermark is answered at once (as in Kafka), and asks again: without a way to go it would do so for ever.
    this.#inner = new BrokerTransport(env, () => latencyMs)
  }

  listen(port: number, broker: Broker): void {
    this.#inner.listen('broker', port, broker)
  }

  loseAnswerAfter(chunks: number | undefined): void {
    this.#before = chunks
  }

  open(host: string, port: number, events: ChannelEvents): Channel {
    return this.#inner.open(host, port, {
      receive: bytes => {
        if (this.#before === 0) {
          this.#before = undefined
          this.#inner.breakAll()
        } else {
          if (this.#before !== undefined) this.#before--
          events.receive(bytes)
        }
      },
      closed: () => events.closed(),
    })
  }
}
