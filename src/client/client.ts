/**
 * The client that producer, consumer, group member and admin calls stand on: it knows the cluster, holds the connections,
 * finds coordinators, and tries again. It is sans-IO: bytes go through the transport, everything else comes from the Env, and
 * nothing happens between two events. Follows KafkaClient, Metadata and CoordinatorKey lookup of the Java client.
 */

import { findCoordinator } from '../protocol/apis/find-coordinator.ts'
import { metadata } from '../protocol/apis/metadata.ts'
import type { Api, Decoded, Fields, Struct } from '../protocol/dsl.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Body, Connection, RequestOptions } from './connection.ts'
import { MetadataCache } from './metadata-cache.ts'
import { DEFAULTS, type KafkaClientOptions, type ResolvedOptions, withDefaults } from './options.ts'
import { type Address, ConnectionPool, MAIN_LANE } from './pool.ts'
import { DONE, type Failure, fail, failureOf, ok, type Result } from './result.ts'
import { Pauses, runTask, type Task, until } from './task.ts'

export interface ClientRequestOptions extends RequestOptions {
  /** A node id, an address, whoever is the controller, or anybody. Default `any`. */
  readonly broker?: number | Address | 'any' | 'controller'
  /** Which connection to that broker; requests on different lanes do not wait for each other. */
  readonly lane?: string
}

export type CoordinatorType = 'group' | 'transaction'

/**
 * A connection to a cluster.
 *
 * @example
 * const client = new KafkaClient({ env, transport, bootstrap: [{ host: 'localhost', port: 9092 }], platform: PURE_PLATFORM })
 * client.topics(['orders']).whenSettled(result => {
 *   if (result.ok) console.log(result.value.topic('orders')?.partitions.length)
 * })
 */
export class KafkaClient {
  readonly env: Env
  readonly platform: RecordsPlatform
  readonly options: ResolvedOptions
  readonly metadata = new MetadataCache()
  readonly #pool: ConnectionPool
  readonly #pauses: Pauses
  readonly #coordinators = new Map<string, Address>()
  /** The topics that are asked for with every refresh, and when each was last needed. */
  readonly #interest = new Map<string, number>()
  #refreshing: Later<Result<void>> | undefined
  #refreshNext: Later<Result<void>> | undefined
  #refreshedAt = Number.NEGATIVE_INFINITY
  #lanes = 0
  #closed = false

  constructor(options: KafkaClientOptions) {
    this.options = withDefaults(DEFAULTS, options)
    this.env = options.env
    this.platform = options.platform
    this.#pool = new ConnectionPool(this.options)
    this.#pauses = new Pauses(options.env)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** One request to one broker, tried once. */
  request<Q extends Fields, S extends Fields>(
    api: Api<Q, S>,
    body: Body<Q>,
    options: ClientRequestOptions = {},
  ): Later<Result<Decoded<Struct<S>>>> {
    if (this.#closed) return this.failed(closed())
    const connection = this.#connectionFor(options)
    if (connection === undefined) {
      return this.failed(fail('BROKER_NOT_AVAILABLE', `broker ${options.broker} is not known`))
    }
    return connection.request(api, body, options)
  }

  #connectionFor({ broker = 'any', lane = MAIN_LANE }: ClientRequestOptions): Connection | undefined {
    const nodeId = broker === 'controller' ? this.metadata.controllerId : broker
    if (typeof nodeId === 'object') return this.#pool.to(nodeId, lane)
    if (typeof nodeId === 'number') {
      const known = this.metadata.broker(nodeId)
      if (known !== undefined) return this.#pool.to(known, lane)
      if (broker !== 'controller') return undefined
    }
    return this.#pool.any([...this.metadata.brokers, ...this.options.bootstrap])
  }

  /** Makes a name for connections that nobody else uses. */
  newLane(purpose: string): string {
    return `${purpose}-${++this.#lanes}`
  }

  closeLane(lane: string): void {
    this.#pool.closeLane(lane)
  }

  /** A `Later` that has settled. */
  settled<T>(value: T): Later<T> {
    return Later.of(this.env.turns, value)
  }

  failed<T>(failure: Failure): Later<Result<T>> {
    return this.settled<Result<T>>(failure)
  }

  run<T>(task: Task<T>): Later<T> {
    return runTask(this.env.turns, task)
  }

  /** Settles after `ms`, or at once when the client is closed. */
  pause(ms: number): Later<void> {
    return this.#closed ? this.settled<void>(undefined) : this.#pauses.pause(ms)
  }

  /** How long to wait before the next try after `tries` failed ones: exponential, with a fifth of chance. */
  backoffMs(tries: number): number {
    const { retryBackoffMs, retryBackoffMaxMs } = this.options
    const base = Math.min(retryBackoffMs * 2 ** Math.min(tries, 30), retryBackoffMaxMs)
    return Math.round(base * (0.8 + 0.4 * this.env.random()))
  }

  /** Repeats `attempt` until it succeeds, fails for good, or the time is over. */
  *retry<T>(attempt: () => Task<Result<T>>, timeoutMs = this.options.apiTimeoutMs): Task<Result<T>> {
    const deadline = this.env.now() + timeoutMs
    for (let tries = 0; ; tries++) {
      const result = yield* attempt()
      if (result.ok || !result.error.retriable) return result
      const wait = this.backoffMs(tries)
      if (this.env.now() + wait > deadline) return result
      yield* until(this.pause(wait))
      if (this.#closed) return closed()
    }
  }

  /** Makes sure that `names` are known, asking and waiting as needed; the value is the cache. */
  topics(names: readonly string[], timeoutMs?: number): Later<Result<MetadataCache>> {
    const attempt = function* (this: KafkaClient): Task<Result<MetadataCache>> {
      const missing = names.filter(name => this.metadata.topic(name) === undefined)
      this.use(names)
      if (missing.length > 0 || this.#stale) {
        const refreshed = yield* until(this.refresh())
        if (!refreshed.ok) return refreshed
      }
      for (const name of names) {
        if (this.metadata.topic(name) !== undefined) continue
        const code = this.metadata.errorOf(name)?.code ?? 'UNKNOWN_TOPIC_OR_PARTITION'
        return fail(code, `topic ${name}: ${code}`)
      }
      return ok(this.metadata)
    }
    return this.run(this.retry(() => attempt.call(this), timeoutMs))
  }

  /** Says that `names` are in use, so that refreshes ask for them. */
  use(names: readonly string[]): void {
    const now = this.env.now()
    for (const name of names) this.#interest.set(name, now)
  }

  get #stale(): boolean {
    return this.env.now() - this.#refreshedAt >= this.options.metadataMaxAgeMs
  }

  /** Starts a refresh if the metadata is old. */
  freshen(): void {
    if (this.#stale && this.#refreshing === undefined) this.refresh()
  }

  /** Asks for the metadata of all topics in use; calls during a refresh share the next one. */
  refresh(): Later<Result<void>> {
    if (this.#refreshing !== undefined) {
      this.#refreshNext ??= new Later(this.env.turns)
      return this.#refreshNext
    }
    const later = new Later<Result<void>>(this.env.turns)
    this.#startRefresh(later)
    return later
  }

  #startRefresh(later: Later<Result<void>>): void {
    this.#refreshing = later
    const horizon = this.env.now() - this.options.metadataMaxAgeMs
    for (const [name, usedAt] of this.#interest) if (usedAt < horizon) this.#interest.delete(name)
    const names = [...this.#interest.keys()]
    this.#askMetadata(names).whenSettled(result => {
      later.settle(result)
      const next = this.#refreshNext
      this.#refreshing = this.#refreshNext = undefined
      if (next !== undefined) this.#startRefresh(next)
    })
  }

  /** Metadata of every topic there is. */
  refreshAll(): Later<Result<void>> {
    return this.#askMetadata(null)
  }

  #askMetadata(names: readonly string[] | null): Later<Result<void>> {
    const { allowAutoTopicCreation } = this.options
    const body = (version: number) => ({
      // Version 0 has no null: its empty list means all topics.
      topics: names === null ? (version === 0 ? [] : null) : names.map(name => ({ name })),
      ...(version >= 4 ? { allowAutoTopicCreation } : {}),
    })
    return this.request(metadata, body).map((reply): Result<void> => {
      if (!reply.ok) return reply
      const failure = failureOf(reply.value.errorCode)
      if (failure !== undefined) return failure
      this.metadata.update(reply.value)
      this.#refreshedAt = this.env.now()
      return DONE
    })
  }

  /** The broker that coordinates `key`, asked for once and remembered until {@link forgetCoordinator}. */
  coordinator(key: string, type: CoordinatorType = 'group'): Later<Result<Address>> {
    const known = this.#coordinators.get(`${type}:${key}`)
    if (known !== undefined) return this.settled(ok(known))
    const keyType = type === 'group' ? 0 : 1
    const body = (version: number) => ({
      ...(version >= 4 ? { coordinatorKeys: [key] } : { key }),
      ...(version >= 1 ? { keyType } : {}),
    })
    return this.request(findCoordinator, body).map((reply): Result<Address> => {
      if (!reply.ok) return reply
      const found = reply.value.coordinators[0] ?? reply.value
      const failure = failureOf(found.errorCode, found.errorMessage)
      if (failure !== undefined) return failure
      const address = { host: found.host, port: found.port }
      this.#coordinators.set(`${type}:${key}`, address)
      return ok(address)
    })
  }

  forgetCoordinator(key: string, type: CoordinatorType = 'group'): void {
    this.#coordinators.delete(`${type}:${key}`)
  }

  /**
   * A request to the coordinator of a group, tried once; `check` finds the error inside the response. A coordinator that turns
   * out not to be one is forgotten, so that the next try looks for it again.
   */
  *askCoordinator<Q extends Fields, S extends Fields>(
    groupId: string,
    api: Api<Q, S>,
    body: Body<Q>,
    check: (response: Decoded<Struct<S>>) => Failure | undefined,
    options: ClientRequestOptions = {},
  ): Task<Result<Decoded<Struct<S>>>> {
    const broker = yield* until(this.coordinator(groupId))
    if (!broker.ok) return broker
    const reply = yield* until(this.request(api, body, { lane: 'coordinator', ...options, broker: broker.value }))
    const result = reply.ok ? (check(reply.value) ?? reply) : reply
    if (!result.ok && LOST_COORDINATOR.has(result.error.code)) this.forgetCoordinator(groupId)
    return result
  }

  /** Closes all connections; whatever still waits settles with an error. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#pool.close()
    this.#pauses.cutShort()
  }
}

const LOST_COORDINATOR: ReadonlySet<string> = new Set([
  'NOT_COORDINATOR',
  'COORDINATOR_NOT_AVAILABLE',
  'NETWORK_EXCEPTION',
  'REQUEST_TIMED_OUT',
])

function closed(): Failure {
  return fail('OTTLA_CLIENT_CLOSED', 'the client is closed')
}
