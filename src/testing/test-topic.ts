/**
 * A topic in a test: what is in it, decoded; putting records in; clearing it. It goes past the protocol, so faults do not meet it
 * and the request log does not show it.
 */
import type { TopicRecord } from '../broker/topic-access.ts'
import type { TopicMethods } from '../node/broker-methods.ts'
import { WAIT_TIMEOUT_MS } from '../node/fault-handles.ts'
import { type Serde, string } from './serdes.ts'
import type { Told } from './told.ts'

/** How the records of a topic are read and written; both are text unless said otherwise. */
export interface TopicSerdes<Value, Key> {
  readonly value?: Serde<Value>
  readonly key?: Serde<Key>
}

/** A record as it was read. */
export interface TestRecord<Value = string, Key = string> {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** In milliseconds since 1970. */
  readonly timestamp: number
  readonly key: Key | null
  readonly value: Value | null
  /** Values of headers as text; of headers with the same name the last. */
  readonly headers: Readonly<Record<string, string>>
}

/** A record to be put in. */
export interface TestRecordInput<Value = string, Key = string> {
  readonly key?: Key | null
  readonly value: Value | null
  readonly headers?: Readonly<Record<string, string>>
  /** By the hash of the key, as Java clients have it, or in turn, by default. */
  readonly partition?: number
  /** Now, by the broker's clock, by default. */
  readonly timestamp?: number
}

export class TestTopic<Value = string, Key = string> {
  readonly name: string
  readonly #methods: () => TopicMethods
  readonly #told: Told
  readonly #value: Serde<Value>
  readonly #key: Serde<Key>

  /** @internal */
  constructor(name: string, methods: () => TopicMethods, told: Told, serdes: TopicSerdes<Value, Key>) {
    this.name = name
    this.#methods = methods
    this.#told = told
    this.#value = serdes.value ?? (string as unknown as Serde<Value>)
    this.#key = serdes.key ?? (string as unknown as Serde<Key>)
  }

  /**
   * All records that are in the topic, up to the high watermarks, once there are at least `count`; at once without a count.
   * Partitions are merged by the times of their records.
   *
   * @throws OttlaError `OTTLA_TIMEOUT` after `timeoutMs`, 10 seconds by default, with how many there are.
   *
   * @example
   * const [order] = await broker.topic('orders', { value: json }).records({ count: 1 })
   */
  async records(options: { count?: number; timeoutMs?: number } = {}): Promise<TestRecord<Value, Key>[]> {
    const { count, timeoutMs = WAIT_TIMEOUT_MS } = options
    const records = await this.#told(this.#methods().recordsOf(this.name, { count, timeoutMs }))
    return records.map(record => this.#read(record))
  }

  /** Puts records in, in their order, and resolves with where each is. A topic that is not there is made. */
  async produce(...records: TestRecordInput<Value, Key>[]): Promise<{ partition: number; offset: number }[]> {
    return this.#methods().produceTo(
      this.name,
      records.map(({ key, value, headers = {}, partition, timestamp }) => ({
        key: written(this.#key, key),
        value: written(this.#value, value),
        headers: Object.entries(headers).map(([name, text]) => ({ key: name, value: string.serialize(text) })),
        partition,
        timestamp,
      })),
    )
  }

  /** Deletes what is in it; offsets go on. */
  async clear(): Promise<void> {
    return this.#methods().clearTopic(this.name)
  }

  /** Makes the topic, unless it is there. */
  async create(
    options: { partitions?: number; replicationFactor?: number; configs?: Record<string, string> } = {},
  ): Promise<void> {
    return this.#methods().createTopic({ name: this.name, ...options })
  }

  #read({ key, value, headers, ...place }: TopicRecord): TestRecord<Value, Key> {
    const texts = headers.map(header => [
      header.key,
      header.value === null ? '' : new TextDecoder().decode(header.value),
    ])
    return {
      ...place,
      key: key === null ? null : this.#key.deserialize(key),
      value: value === null ? null : this.#value.deserialize(value),
      headers: Object.fromEntries(texts),
    }
  }
}

function written<T>(serde: Serde<T>, value: T | null | undefined): Uint8Array | null {
  return value === null || value === undefined ? null : serde.serialize(value)
}
