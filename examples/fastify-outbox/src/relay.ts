/**
 * Carries messages from the outbox to Kafka, in their order. A lost acknowledgement makes no duplicate, since the producer is
 * idempotent; a crash between acknowledgement and mark does, and then both have the same `message-id`, by which consumers know them
 * (inbox.ts). One relay runs per database.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kafka, Partitioners, type Producer } from 'kafkajs'
import type { Outbox, OutboxMessage } from './outbox.ts'

export interface RelayOptions {
  readonly kafka: Kafka
  readonly outbox: Outbox
  /** How many are sent at once. */
  readonly batchSize?: number
  /** How long after nobody called `wake` the outbox is looked at, in milliseconds. */
  readonly pollMs?: number
  /** How long it waits after Kafka could not be reached, in milliseconds. */
  readonly pauseMs?: number
  onError?(error: Error): void
}

export const MESSAGE_ID = 'message-id'

export class Relay {
  readonly #options: Required<RelayOptions>
  readonly #stopping = new AbortController()
  #awake = new AbortController()
  #working: Promise<void> | undefined

  constructor(options: RelayOptions) {
    this.#options = { batchSize: 100, pollMs: 1000, pauseMs: 1000, onError: () => {}, ...options }
  }

  /** Begins at once, and goes on until it is stopped; Kafka need not be there yet. */
  start(): void {
    this.#working ??= this.#work()
  }

  /** There is something in the outbox. */
  wake(): void {
    this.#awake.abort()
  }

  /** Ends after the batch at hand. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#working
  }

  async #work(): Promise<void> {
    const { outbox, batchSize, pollMs, pauseMs, onError } = this.#options
    let producer: Producer | undefined
    while (!this.#stopping.signal.aborted) {
      this.#awake = new AbortController()
      const messages = outbox.unsent(batchSize)
      if (messages.length === 0) {
        await this.#rest(pollMs)
        continue
      }
      try {
        producer ??= await this.#connect()
        await send(producer, messages)
        outbox.markSent(messages)
      } catch (error) {
        onError(error as Error)
        // What was sent may be in Kafka, and this producer would give its sequence numbers to whatever comes next. A new one has an
        // id of its own; to connect the old one again would change nothing.
        await producer?.disconnect().catch(() => {})
        producer = undefined
        await this.#rest(pauseMs)
      }
    }
    await producer?.disconnect()
  }

  async #connect(): Promise<Producer> {
    const producer = this.#options.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
    })
    await producer.connect()
    return producer
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#awake.signal }).catch(() => {})
  }
}

async function send(producer: Producer, messages: readonly OutboxMessage[]): Promise<void> {
  const topicMessages = [...new Set(messages.map(({ topic }) => topic))].map(topic => ({
    topic,
    messages: messages
      .filter(message => message.topic === topic)
      .map(({ id, key, value }) => ({ key, value, headers: { [MESSAGE_ID]: String(id) } })),
  }))
  await producer.sendBatch({ acks: -1, topicMessages })
}
