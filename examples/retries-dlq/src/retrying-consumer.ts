/**
 * A consumer that does not stand still at a record that fails: the record goes where its plan says, and those behind it go on. A
 * partition whose first record is not due yet is paused until it is. At least once: an offset is committed when its record was worked
 * on or is somewhere else, and `id` is how a handler knows what it has done.
 */
import {
  type Consumer,
  type ConsumerConfig,
  type EachBatchPayload,
  type Kafka,
  Partitioners,
  type Producer,
} from 'kafkajs'
import { Alarms, type Clock } from './clock.ts'
import { type Read, RetryPlan, type Wait } from './retry-plan.ts'

/** Works on a record. Throws when it could not; a `HopelessError` when it never can. */
export type Handler = (
  value: Buffer | null,
  context: { readonly id: string; readonly key: Buffer | null },
) => Promise<void>

export interface RetryingConsumerOptions {
  readonly kafka: Kafka
  readonly groupId: string
  readonly topic: string
  readonly handler: Handler
  readonly waits?: readonly Wait[]
  readonly clock?: Clock
  /** How often the clock is looked at while a partition waits, in milliseconds. */
  readonly lookMs?: number
  readonly consumer?: Partial<ConsumerConfig>
  /** The consumer has given up, and the process had better end. */
  onCrash?(error: Error): void
}

export class RetryingConsumer {
  readonly #kafka: Kafka
  readonly #plan: RetryPlan
  readonly #handler: Handler
  readonly #clock: Clock
  readonly #alarms: Alarms
  readonly #consumer: Consumer
  readonly #producer: Producer

  constructor(options: RetryingConsumerOptions) {
    const { kafka, groupId, topic, handler, waits, clock = Date, lookMs, consumer, onCrash } = options
    this.#kafka = kafka
    this.#plan = new RetryPlan(topic, waits)
    this.#handler = handler
    this.#clock = clock
    this.#alarms = new Alarms(clock, lookMs)
    this.#consumer = kafka.consumer({ groupId, ...consumer })
    this.#consumer.on('consumer.crash', ({ payload: { error, restart } }) => {
      if (!restart) onCrash?.(error)
    })
    this.#producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
    })
  }

  async start(): Promise<void> {
    await this.#createTopics()
    await this.#producer.connect()
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topics: [this.#plan.topic, ...this.#plan.retryTopics], fromBeginning: true })
    await this.#consumer.run({
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 4,
      eachBatch: payload => this.#work(payload),
    })
  }

  /** What waits is kept until it was tried, and dead letters until somebody looks at them, however long that takes. */
  async #createTopics(): Promise<void> {
    const admin = this.#kafka.admin()
    await admin.connect()
    try {
      const there = new Set(await admin.listTopics())
      const missing = [...this.#plan.retryTopics, this.#plan.deadLetterTopic].filter(topic => !there.has(topic))
      const configEntries = [{ name: 'retention.ms', value: '-1' }]
      await admin.createTopics({ topics: missing.map(topic => ({ topic, configEntries })), waitForLeaders: true })
    } finally {
      await admin.disconnect()
    }
  }

  /** Ends after the records at hand. */
  async stop(): Promise<void> {
    this.#alarms.clear()
    await this.#consumer.disconnect()
    await this.#producer.disconnect()
  }

  async #work({ batch, resolveOffset, heartbeat, pause, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const { topic, partition } = batch
    for (const message of batch.messages) {
      if (!isRunning() || isStale()) return
      const dueAt = this.#plan.dueAt(message)
      if (dueAt > this.#clock.now()) {
        // All behind it came later, and wait as long: they are fetched again then.
        this.#alarms.at(dueAt, pause())
        return
      }
      await this.#try({ topic, partition, message })
      resolveOffset(message.offset)
      await heartbeat()
    }
  }

  /** Resolves when the record was worked on, or is where it goes next; otherwise kafkajs reads it again. */
  async #try(read: Read): Promise<void> {
    const { key, value } = read.message
    try {
      await this.#handler(value, { id: this.#plan.idOf(read), key })
    } catch (error) {
      const next = this.#plan.next(read, error as Error, this.#clock.now())
      await this.#producer.send({ topic: next.topic, acks: -1, messages: [{ key, value, headers: next.headers }] })
    }
  }
}
