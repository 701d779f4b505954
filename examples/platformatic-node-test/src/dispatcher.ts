/**
 * Posts webhooks to where they are wanted, one after the other. An offset is committed once its webhook was taken, so none is lost;
 * one that is posted again after a crash or a rebalance has the same `Idempotency-Key`, by which the receiver knows it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Consumer,
  type ConsumerOptions,
  type Message,
  type MessagesStream,
  stringDeserializers,
} from '@platformatic/kafka'
import { readWebhook, WEBHOOKS, type Webhook } from './webhook.ts'

type TextMessage = Message<string, string, string, string>

export interface DispatcherOptions {
  readonly bootstrapBrokers: string[]
  /** Webhooks older than this many milliseconds are nobody's business any more; three days by default. */
  readonly maxAgeMs?: number
  /** Between two tries, in milliseconds; doubled each time up to a minute. */
  readonly retryDelayMs?: number
  /** The clock, in milliseconds since 1970. */
  now?(): number
  log?(message: string): void
  /** What a deployment, or a test in a hurry, wants otherwise. */
  readonly consumer?: Partial<ConsumerOptions<string, string, string, string>>
}

export const GROUP = 'webhook-dispatcher'
const THREE_DAYS_MS = 3 * 24 * 60 * 60 * 1000
const MOST_DELAY_MS = 60_000

export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #consumer: Consumer<string, string, string, string>
  readonly #stopping = new AbortController()
  #stream: MessagesStream<string, string, string, string> | undefined
  #working: Promise<void> | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { bootstrapBrokers, consumer } = options
    this.#consumer = new Consumer({
      clientId: GROUP,
      groupId: GROUP,
      ...consumer,
      bootstrapBrokers,
      deserializers: stringDeserializers,
    })
  }

  /** Resolves once it is a member of its group. Then {@link done} tells how it ends. */
  async start(): Promise<void> {
    this.#stream = await this.#consumer.consume({
      topics: [WEBHOOKS],
      mode: 'committed',
      fallbackMode: 'earliest',
      autocommit: false,
    })
    this.#working = this.#work(this.#stream)
    // Whoever does not ask is not to die of it.
    this.#working.catch(() => {})
  }

  /** Resolves when it was stopped, rejects when it cannot go on. */
  async done(): Promise<void> {
    await this.#working
  }

  /** Ends after the webhook at hand, or at once when that one only waits for its next try. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#stream?.close()
    await this.#working?.catch(() => {})
    await this.#consumer.close(true)
  }

  async #work(stream: MessagesStream<string, string, string, string>): Promise<void> {
    for await (const message of stream) {
      if (!(await this.#handle(message))) return
      try {
        await message.commit()
      } catch (error) {
        // The next commit covers this one; if there is none, the webhook is posted again, and its receiver knows it.
        this.#log(`could not commit ${keyOf(message)}: ${error}`)
      }
    }
  }

  /** Resolves with false when it was stopped before it could be posted. */
  async #handle(message: TextMessage): Promise<boolean> {
    const { maxAgeMs = THREE_DAYS_MS, now = Date.now } = this.#options
    let webhook: Webhook
    try {
      webhook = readWebhook(message.value)
    } catch (error) {
      this.#log(`passed over ${keyOf(message)}: ${error}`)
      return true
    }
    if (now() - Number(message.timestamp) > maxAgeMs) {
      this.#log(`passed over ${keyOf(message)}: too old`)
      return true
    }
    return this.#post(webhook, keyOf(message))
  }

  async #post({ url, event }: Webhook, key: string): Promise<boolean> {
    const { signal } = this.#stopping
    let delayMs = this.#options.retryDelayMs ?? 1000
    while (!signal.aborted) {
      const status = await post(url, event, key)
      if (status < 400) return true
      if (status < 500 && status !== 429) {
        this.#log(`gave up ${key}: ${url} answers ${status}`)
        return true
      }
      await sleep(delayMs, undefined, { signal }).catch(() => {})
      delayMs = Math.min(delayMs * 2, MOST_DELAY_MS)
    }
    return false
  }

  #log(message: string): void {
    this.#options.log?.(message)
  }
}

/** The place of a record is its name for good. */
function keyOf({ topic, partition, offset }: TextMessage): string {
  return `${topic}-${partition}-${offset}`
}

/** The status that it was answered with; whoever cannot be reached counts as one who has trouble. */
async function post(url: string, event: string, key: string): Promise<number> {
  try {
    const headers = { 'content-type': 'text/plain', 'idempotency-key': key }
    const response = await fetch(url, { method: 'POST', headers, body: event, signal: AbortSignal.timeout(10_000) })
    await response.body?.cancel()
    return response.status
  } catch {
    return 503
  }
}
