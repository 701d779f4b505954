/**
 * Load for a broker that is killed again and again: idempotent producers of our own client and of kafkajs, and a group that reads
 * and commits. Everything that was acknowledged is remembered.
 */

import { Kafka, type Producer as KafkaJsProducer, logLevel } from 'kafkajs'
import {
  Consumer,
  committedOffsets,
  createTopics,
  GroupConsumer,
  KafkaClient,
  type Later,
  Producer,
  type Result,
} from '../../src/client/index.ts'
import { nodeRecordsPlatform } from '../../src/node/records-platform.ts'
import { SystemEnv } from '../../src/node/system-env.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { TcpTransport } from './tcp-transport.ts'

export const TOPIC = 'orders'
const GROUP = 'readers'
const PARTITIONS = [0, 1, 2]

/** A value as a producer sent it: `name/number`. */
interface Stored {
  partition: number
  offset: number
}

export class Load {
  readonly env: SystemEnv
  readonly #port: number
  readonly #clients: KafkaClient[] = []
  readonly #stops: (() => Promise<unknown>)[] = []
  /** What was acknowledged, and where it was said to be. */
  readonly acknowledged = new Map<string, Stored>()
  /** Producers that promise order and no doubles. */
  readonly idempotent: string[] = []
  readonly read = new Set<string>()
  /** By partition: what the group was told is committed. */
  readonly committed = new Map<number, number>()
  readonly problems: string[] = []
  #running = true

  constructor(port: number) {
    this.#port = port
    this.env = new SystemEnv({
      log: () => {},
      onFatal: error => this.problems.push(`client: ${error.stack}`),
    })
  }

  client(): KafkaClient {
    const client = new KafkaClient({
      env: this.env,
      transport: new TcpTransport(this.env),
      bootstrap: [{ host: '127.0.0.1', port: this.#port }],
      platform: nodeRecordsPlatform,
      requestTimeoutMs: 3000,
      apiTimeoutMs: 60_000,
      retryBackoffMs: 20,
      retryBackoffMaxMs: 100,
    })
    this.#clients.push(client)
    return client
  }

  async good<T>(begin: () => Later<Result<T>>): Promise<T> {
    const result = await this.env.settled(begin)
    if (!result.ok) throw result.error
    return result.value
  }

  async createTopic(configs: Record<string, string>): Promise<void> {
    const made = await this.good(() =>
      createTopics(this.client(), [{ name: TOPIC, partitions: PARTITIONS.length, configs }]),
    )
    for (const result of made.values()) if (!result.ok) throw result.error
  }

  /** A producer of our own client that keeps a few records on their way. */
  produce(name: string): void {
    this.idempotent.push(name)
    const producer = new Producer(this.client(), { deliveryTimeoutMs: 60_000, timeoutMs: 3000, batchBytes: 300 })
    let number = 0
    const last = PARTITIONS.map(() => Promise.resolve())
    const send = (partition: number) => {
      if (!this.#running) return Promise.resolve()
      const id = `${name}/${++number}`
      const value = utf8Encode(`${id} ${'.'.repeat(number % 200)}`)
      return this.env
        .settled(() => producer.send({ topic: TOPIC, partition, value }))
        .then(result => {
          if (result.ok) this.acknowledged.set(id, { partition, offset: result.value.offset })
          else this.problems.push(`${id}: ${result.error.message}`)
        })
    }
    const loops = PARTITIONS.flatMap(partition =>
      [0, 1].map(async () => {
        while (this.#running) await send(partition)
      }),
    )
    this.#stops.push(() => Promise.all([...loops, ...last]))
  }

  /** An idempotent producer of kafkajs. What it gives up may be stored or not, so it is begun anew. */
  produceWithKafkaJs(name: string): void {
    const kafka = new Kafka({
      brokers: [`127.0.0.1:${this.#port}`],
      logLevel: logLevel.NOTHING,
      requestTimeout: 3000,
      retry: { initialRetryTime: 20, maxRetryTime: 100, retries: 200 },
    })
    const run = async () => {
      let producer: KafkaJsProducer | undefined
      for (let number = 1; this.#running; number++) {
        const partition = PARTITIONS[number % PARTITIONS.length]
        const id = `${name}/${number}`
        try {
          if (producer === undefined) {
            producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
            await producer.connect()
          }
          const [sent] = await producer.send({ topic: TOPIC, acks: -1, messages: [{ partition, value: `${id} ` }] })
          this.acknowledged.set(id, { partition, offset: Number(sent.baseOffset) })
        } catch {
          await producer?.disconnect().catch(() => {})
          producer = undefined
        }
      }
      await producer?.disconnect()
    }
    const running = run()
    this.#stops.push(() => running)
  }

  /** A member of the group, which commits what it read. */
  consume(): void {
    const consumer = new GroupConsumer(this.client(), {
      groupId: GROUP,
      topics: [TOPIC],
      autoOffsetReset: 'earliest',
      sessionTimeoutMs: 6000,
      heartbeatIntervalMs: 200,
      maxWaitMs: 50,
    })
    const run = async () => {
      while (this.#running) {
        const polled = await this.env.settled(() => consumer.poll(100))
        if (!polled.ok) continue
        for (const { value } of polled.value) this.read.add(idOf(value))
        const positions = consumer.consumer.assignment.flatMap(each => {
          const position = consumer.consumer.positionNow(each)
          return position === undefined ? [] : [{ ...each, ...position }]
        })
        if (positions.length === 0) continue
        const committed = await this.env.settled(() => consumer.commit(positions))
        if (!committed.ok) continue
        for (const { partition, offset } of positions) {
          this.committed.set(partition, Math.max(offset, this.committed.get(partition) ?? 0))
        }
      }
      await this.env.settled(() => consumer.close())
    }
    const running = run()
    this.#stops.push(() => running)
  }

  /** What the group has committed is never less than what it was told. */
  async checkCommitted(): Promise<void> {
    const told = new Map(this.committed)
    const client = this.client()
    const places = PARTITIONS.map(partition => ({ topic: TOPIC, partition }))
    const found = await this.good(() => client.run(committedOffsets(client, GROUP, places)))
    for (const [partition, offset] of told) {
      const kept = found.get(`${TOPIC}:${partition}`)?.offset ?? -1
      if (kept < offset) this.problems.push(`the group had ${offset} of partition ${partition}, and has ${kept}`)
    }
    client.close()
  }

  /** Ends all work; settles once every producer has its answers. */
  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#stops.map(stop => stop()))
  }

  /** All values that are stored, by partition, with their offsets. */
  async stored(): Promise<{ id: string; offset: number }[][]> {
    const client = this.client()
    const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
    const places = PARTITIONS.map(partition => ({ topic: TOPIC, partition }))
    consumer.assign(places)
    const ends = await this.good(() => consumer.endOffsets(places))
    const stored: { id: string; offset: number }[][] = PARTITIONS.map(() => [])
    const isWhole = () =>
      places.every(each => {
        const position = consumer.positionNow(each)?.offset ?? -1
        return position >= (ends.get(`${TOPIC}:${each.partition}`)?.offset ?? 0)
      })
    while (!isWhole()) {
      for (const { partition, offset, value } of await this.good(() => consumer.poll(500))) {
        stored[partition].push({ id: idOf(value), offset })
      }
    }
    return stored
  }

  close(): void {
    this.env.event(() => {
      for (const client of this.#clients) client.close()
    })
    this.env.close()
  }
}

function idOf(value: Uint8Array | null): string {
  return value === null ? '' : utf8Decode(value).split(' ', 1)[0]
}
