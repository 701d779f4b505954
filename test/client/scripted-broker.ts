/**
 * Brokers for tests of the client that say what the test tells them to: real frames over the protocol codec, no broker
 * behind them. Like Kafka they take one request at a time per connection and answer in order. ApiVersions, Metadata and
 * FindCoordinator are answered from a small description of the cluster unless the test says otherwise.
 */

import { FrameReader } from '../../src/client/frame-reader.ts'
import type { Channel, ChannelEvents, Transport } from '../../src/client/transport.ts'
import { isFlexible, readStruct } from '../../src/protocol/codec.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from '../../src/protocol/dsl.ts'
import { encodeResponse } from '../../src/protocol/frame.ts'
import { readRequestHeader } from '../../src/protocol/header.ts'
import { APIS, apiVersions, findCoordinator, metadata } from '../../src/protocol/index.ts'
import { ByteReader } from '../../src/util/byte-reader.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { Later } from '../../src/util/later.ts'
import { uuidFromBytes } from '../../src/util/uuid.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'

/** No answer, for ever: the connection waits behind it. */
export const SILENT = Symbol('silent')
/** The connection ends instead of an answer. */
export const CLOSE = Symbol('close')

export interface Seen {
  name: string
  version: number
  clientId: string | null
  port: number
  /** Which connection, counted over all brokers. */
  connection: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever the request holds.
  body: any
}

type Answer<S extends Fields> =
  | Encodable<Struct<S>>
  | typeof SILENT
  | typeof CLOSE
  // biome-ignore lint/suspicious/noExplicitAny: a Later is invariant, and what it brings is checked when it is encoded.
  | Later<any>
// biome-ignore lint/suspicious/noExplicitAny: one map holds the handlers of all APIs.
type Handler = (body: any, seen: Seen) => any

export interface ScriptedTopic {
  topicId?: string
  /** Leader of each partition. */
  leaders: number[]
  leaderEpoch?: number
}

/** An id that follows from the name, for topics that the test gave none. */
export function topicIdOf(name: string): string {
  return uuidFromBytes(Uint8Array.from({ length: 16 }, (_, index) => name.charCodeAt(index % name.length)))
}

export class ScriptedBrokers implements Transport {
  readonly env: VirtualEnv
  readonly seen: Seen[] = []
  /** Node id → port; all on host `broker`. */
  readonly nodes = new Map<number, number>([[1, 9001]])
  readonly topics = new Map<string, ScriptedTopic>()
  /** Version ranges that differ from what we speak ourselves, by API name. */
  readonly ranges: Record<string, [number, number] | undefined> = {}
  coordinator = 1
  /** Responses are cut into chunks of this size. */
  chunkBytes = Number.POSITIVE_INFINITY
  /** Ports on which nobody listens. */
  readonly down = new Set<number>()
  readonly #handlers = new Map<string, Handler>()
  readonly channels: ScriptedChannel[] = []

  constructor(env: VirtualEnv) {
    this.env = env
    this.on(apiVersions, () => ({ apiKeys: this.apiKeys() }))
    this.on(metadata, body => this.metadata(body))
    this.on(findCoordinator, body => this.#find(body))
  }

  /** Says how to answer an API from now on. */
  on<Q extends Fields, S extends Fields>(
    api: Api<Q, S>,
    handler: (body: Decoded<Struct<Q>>, seen: Seen) => Answer<S>,
  ): void {
    this.#handlers.set(api.name, handler)
  }

  /** Answers the next requests with `answers`, one each, then goes on as before. */
  once<Q extends Fields, S extends Fields>(
    api: Api<Q, S>,
    ...answers: (Answer<S> | ((body: Decoded<Struct<Q>>) => Answer<S>))[]
  ): void {
    const before = this.#handlers.get(api.name)
    this.on(api, (body, seen) => {
      const answer = answers.shift()
      if (answer === undefined) return before?.(body, seen)
      return typeof answer === 'function' ? answer(body) : answer
    })
  }

  /** Names of the requests so far, without the first words of every connection. */
  get names(): string[] {
    return this.seen.filter(each => each.name !== 'ApiVersions').map(each => each.name)
  }

  /** Bodies of the requests to one API. */
  bodies<Q extends Fields, S extends Fields>(api: Api<Q, S>): Decoded<Struct<Q>>[] {
    return this.seen.filter(each => each.name === api.name).map(each => each.body)
  }

  open(_host: string, port: number, events: ChannelEvents): Channel {
    const channel = new ScriptedChannel(this, port, this.channels.length, events)
    this.channels.push(channel)
    if (this.down.has(port)) channel.end()
    return channel
  }

  handle(seen: Seen): unknown {
    this.seen.push(seen)
    const handler = this.#handlers.get(seen.name)
    if (handler === undefined) throw new Error(`no answer for ${seen.name} ${seen.version}`)
    return handler(seen.body, seen)
  }

  apiKeys() {
    const listed = APIS.filter(api => !(api.name in this.ranges) || this.ranges[api.name] !== undefined)
    return listed.map(({ key, name, versions }) => {
      const [minVersion, maxVersion] = this.ranges[name] ?? versions
      return { apiKey: key, minVersion, maxVersion }
    })
  }

  metadata(body: Decoded<typeof metadata.request>): Encodable<typeof metadata.response> {
    const names = body.topics === null ? [...this.topics.keys()] : body.topics.map(topic => topic.name as string)
    return {
      brokers: [...this.nodes].map(([nodeId, port]) => ({ nodeId, host: 'broker', port })),
      clusterId: 'scripted',
      controllerId: [...this.nodes.keys()][0],
      topics: names.map(name => {
        const topic = this.topics.get(name)
        if (topic === undefined) return { name, errorCode: 3 }
        const { topicId = topicIdOf(name), leaders, leaderEpoch = 0 } = topic
        const partitions = leaders.map((leaderId, partitionIndex) => ({ partitionIndex, leaderId, leaderEpoch }))
        return { name, topicId, partitions }
      }),
    }
  }

  #find(body: Decoded<typeof findCoordinator.request>): Encodable<typeof findCoordinator.response> {
    const found = { nodeId: this.coordinator, host: 'broker', port: this.nodes.get(this.coordinator) as number }
    if (body.coordinatorKeys.length === 0) return found
    return { coordinators: body.coordinatorKeys.map(key => ({ key, ...found, errorMessage: null })) }
  }
}

export class ScriptedChannel implements Channel {
  readonly #brokers: ScriptedBrokers
  readonly #port: number
  readonly #number: number
  readonly #events: ChannelEvents
  readonly #reader = new FrameReader(1 << 30, frame => this.#frames.push(frame))
  readonly #frames: Uint8Array[] = []
  #busy = false
  open = true

  constructor(brokers: ScriptedBrokers, port: number, number: number, events: ChannelEvents) {
    this.#brokers = brokers
    this.#port = port
    this.#number = number
    this.#events = events
  }

  send(parts: Uint8Array[]): void {
    if (!this.open) return
    for (const part of parts) this.#reader.push(part)
    this.#brokers.env.turns.enqueue(() => this.#next())
  }

  close(): void {
    this.open = false
  }

  /** The broker ends the connection. */
  end(): void {
    if (!this.open) return
    this.open = false
    this.#brokers.env.turns.enqueue(() => this.#events.closed())
  }

  /** Puts bytes on the wire as they are. */
  deliver(bytes: Uint8Array): void {
    const size = Math.min(this.#brokers.chunkBytes, bytes.length)
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = bytes.slice(at, at + size)
      this.#brokers.env.turns.enqueue(() => {
        if (!this.open) return
        this.#events.receive(chunk)
        // Whoever kept a view of the receive buffer is found out.
        chunk.fill(0xdd)
      })
    }
  }

  #next(): void {
    if (this.#busy || !this.open) return
    const frame = this.#frames.shift()
    if (frame === undefined) return
    const key = (frame[0] << 8) | frame[1]
    const version = (frame[2] << 8) | frame[3]
    const api = APIS.find(each => each.key === key) as Api
    const reader = new ByteReader(frame)
    const header = readRequestHeader(api, version, reader)
    const body = readStruct(api.request, version, isFlexible(api, version), reader)
    const { clientId, correlationId } = header
    const seen = { name: api.name, version, clientId, port: this.#port, connection: this.#number, body }
    const answer = this.#brokers.handle(seen)
    if (answer === CLOSE) return this.end()
    this.#busy = true
    if (answer === SILENT) return
    const reply = (value: unknown) => {
      this.#busy = false
      const noReply = api.name === 'Produce' && (body as { acks: number }).acks === 0
      const response = value as Record<string, unknown>
      // Whoever asks in a version that the broker does not know is told so in the oldest layout (KIP-511).
      const layout = api.name === 'ApiVersions' && response.errorCode === 35 ? 0 : version
      if (!noReply) this.deliver(concat(encodeResponse(api, layout, correlationId, response)))
      this.#next()
    }
    if (answer instanceof Later) answer.whenSettled(reply)
    else reply(answer)
  }
}
