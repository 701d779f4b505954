import type { EmulatedRelease } from '../../src/broker/emulate/releases.ts'
import type { BrokerConnection } from '../../src/broker/sink.ts'
import { Cluster, type TopicDeclaration } from '../../src/cluster/index.ts'
import { nodeCompression } from '../../src/node/codecs.ts'
import { isFlexible, readStruct } from '../../src/protocol/codec.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from '../../src/protocol/dsl.ts'
import { encodeRequest } from '../../src/protocol/frame.ts'
import { readResponseHeader } from '../../src/protocol/header.ts'
import { crc32cJs } from '../../src/records/crc32c.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { ByteReader } from '../../src/util/byte-reader.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'

/**
 * A cluster of one in virtual time, and connections to it that send what they are told: no sockets, no waiting. The buffer of
 * each request is overwritten after the call, so that whoever kept a view of it is found out.
 */

export const platform = { crc32c: crc32cJs, compression: nodeCompression }

export interface TestBroker {
  env: VirtualEnv
  cluster: Cluster
  connect(clientId?: string): TestConnection
}

export function startTestBroker(
  options: {
    configs?: Record<string, string>
    topics?: TopicDeclaration[]
    limits?: object
    env?: VirtualEnv
    maxBytes?: number
    storage?: Storage
    emulates?: EmulatedRelease
  } = {},
): TestBroker {
  const env = options.env ?? new VirtualEnv()
  const storage = options.storage ?? new MemoryStorage({ turns: env.turns, maxBytes: options.maxBytes })
  const cluster = new Cluster({
    env,
    brokers: [{ id: 1, storage, platform }],
    configs: { 'group.initial.rebalance.delay.ms': '0', 'offsets.topic.num.partitions': '5', ...options.configs },
    limits: { requestLogSize: 1000, ...options.limits },
    emulates: options.emulates,
    onFatal: error => {
      throw error
    },
  })
  cluster.broker(1).register('localhost', 9092)
  env.settle()
  if (options.topics !== undefined) {
    const made = cluster.createTopics(options.topics)
    env.settle()
    if (made.value !== undefined) throw made.value
  }
  return { env, cluster, connect: clientId => new TestConnection(env, cluster, clientId) }
}

type Response<A> = A extends Api<Fields, infer R> ? Decoded<Struct<R>> : never

export class TestConnection {
  readonly env: VirtualEnv
  readonly #connection: BrokerConnection
  readonly #clientId: string
  #received: Uint8Array = new Uint8Array(0)
  #correlationId = 0
  closed = false

  constructor(env: VirtualEnv, cluster: Pick<Cluster, 'broker'>, clientId = 'test', brokerId = 1) {
    this.env = env
    this.#clientId = clientId
    this.#connection = cluster.broker(brokerId).connect(
      {
        send: (parts, taken) => {
          this.#received = concat([this.#received, ...parts])
          taken()
        },
        close: () => {
          this.closed = true
        },
        pause() {},
        resume() {},
      },
      { host: '127.0.0.1', port: 50000, listener: 'localhost:9092' },
    )
  }

  /** Sends a request and gives back a function that reads its answer: undefined while there is none. */
  send<Req extends Fields, Res extends Fields>(
    api: Api<Req, Res>,
    version: number,
    body: Encodable<Struct<Req>>,
  ): () => Decoded<Struct<Res>> | undefined {
    const correlationId = this.#correlationId++
    this.raw(
      concat(
        encodeRequest(api, { apiKey: api.key, apiVersion: version, correlationId, clientId: this.#clientId }, body),
      ),
    )
    return () => this.#answer(api as unknown as Api, version, correlationId) as Decoded<Struct<Res>> | undefined
  }

  /** Sends a request whose answer must be there at once. */
  call<Req extends Fields, Res extends Fields>(
    api: Api<Req, Res>,
    version: number,
    body: Encodable<Struct<Req>>,
  ): Decoded<Struct<Res>> {
    const answer = this.send(api, version, body)()
    if (answer === undefined)
      throw new Error(`${api.name} v${version} was not answered${this.closed ? ': closed' : ''}`)
    return answer
  }

  raw(bytes: Uint8Array): void {
    this.#connection.receive(bytes)
    bytes.fill(0xee)
    this.env.settle()
  }

  /** The next answer, read as that of a request with this correlation id; undefined while there is none. */
  read<Req extends Fields, Res extends Fields>(api: Api<Req, Res>, version: number, correlationId: number) {
    return this.#answer(api as unknown as Api, version, correlationId) as Decoded<Struct<Res>> | undefined
  }

  disconnect(): void {
    this.#connection.closed()
    this.env.settle()
  }

  /** How many bytes were answered and not looked at. */
  get unread(): number {
    return this.#received.length
  }

  #answer(api: Api, version: number, correlationId: number): Response<Api> | undefined {
    const reader = new ByteReader(this.#received)
    if (reader.remaining < 4) return undefined
    const length = reader.int32()
    const end = 4 + length
    const header = readResponseHeader(api, version, reader)
    if (header.correlationId !== correlationId) {
      throw new Error(`answer ${header.correlationId} where ${correlationId} is next`)
    }
    const body = readStruct(api.response, version, isFlexible(api, version), reader)
    if (reader.position !== end) throw new Error(`${end - reader.position} bytes left over`)
    this.#received = this.#received.slice(end)
    return body as Response<Api>
  }
}
