/**
 * Where a record goes that could not be worked on: into a topic where it waits, a longer time after each try, and at last into the
 * dead letter topic. What is known of it travels in its headers. Pure: it is told what time it is.
 */
import type { IHeaders, KafkaMessage } from 'kafkajs'

export interface Wait {
  /** A part of the topic's name, such as `1h`. */
  readonly name: string
  readonly ms: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const WAITS: readonly Wait[] = [
  { name: '1m', ms: MINUTE_MS },
  { name: '1h', ms: HOUR_MS },
  { name: '1d', ms: 24 * HOUR_MS },
]

/** A try that cannot succeed: trying again is of no use. */
export class HopelessError extends Error {}

/** Where and when a record goes next. */
export interface Next {
  readonly topic: string
  readonly headers: IHeaders
}

/** A record with where it was read. */
export interface Read {
  readonly topic: string
  readonly partition: number
  readonly message: KafkaMessage
}

export class RetryPlan {
  readonly topic: string
  readonly #waits: readonly Wait[]

  constructor(topic: string, waits: readonly Wait[] = WAITS) {
    this.topic = topic
    this.#waits = waits
  }

  get retryTopics(): string[] {
    return this.#waits.map(({ name }) => `${this.topic}.retry.${name}`)
  }

  get deadLetterTopic(): string {
    return `${this.topic}.dlq`
  }

  /** When the record may be tried, in milliseconds since 1970; 0 for at once. */
  dueAt(message: KafkaMessage): number {
    return Number(header(message, 'not-before') ?? 0)
  }

  /** A name for what the record is about, the same in every try. */
  idOf({ topic, partition, message }: Read): string {
    return header(message, 'origin') ?? `${topic}-${partition}-${message.offset}`
  }

  next(read: Read, error: Error, now: number): Next {
    const attempts = Number(header(read.message, 'attempts') ?? 0) + 1
    const wait = error instanceof HopelessError ? undefined : this.#waits[attempts - 1]
    const headers: IHeaders = {
      ...read.message.headers,
      origin: this.idOf(read),
      attempts: String(attempts),
      error: error.message,
    }
    delete headers['not-before']
    if (wait === undefined) return { topic: this.deadLetterTopic, headers }
    return {
      topic: this.retryTopics[attempts - 1] as string,
      headers: { ...headers, 'not-before': String(now + wait.ms) },
    }
  }
}

function header({ headers }: KafkaMessage, name: string): string | undefined {
  const value = headers?.[name]
  return value === undefined ? undefined : String(value)
}
