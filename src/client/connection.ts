/**
 * Requests and responses over one channel: it asks for ApiVersions first, then sends what is asked, a bounded number at a
 * time, and gives each response to whoever asked. Brokers answer in order, so anything out of order ends the connection, and
 * so does a request that is not answered in time, since all later ones wait behind it. It never retries: that is for those
 * who know whether a request may be repeated. Follows NetworkClient.
 */

import { EncodeError, isFlexible, readStruct } from '../protocol/codec.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from '../protocol/dsl.ts'
import { encodeRequest } from '../protocol/frame.ts'
import { readResponseHeader } from '../protocol/header.ts'
import { ByteReader } from '../util/byte-reader.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import { FrameReader } from './frame-reader.ts'
import { askVersions } from './handshake.ts'
import { fail, ok, type Result } from './result.ts'
import { runTask } from './task.ts'
import type { Channel, Transport } from './transport.ts'
import type { MaxVersions, Versions } from './versions.ts'

export interface ConnectionOptions {
  readonly env: Env
  readonly transport: Transport
  readonly host: string
  readonly port: number
  readonly clientId: string
  readonly requestTimeoutMs: number
  /** How many requests may wait for their response at a time; more are kept here. */
  readonly maxInFlight: number
  readonly maxFrameBytes: number
  readonly maxVersions: MaxVersions
}

/** A body, or how to make it once the version is known. */
export type Body<Q extends Fields> = Encodable<Struct<Q>> | ((version: number) => Encodable<Struct<Q>>)

export interface RequestOptions {
  /** Milliseconds until the connection is given up; the connection's own when left out. */
  readonly timeoutMs?: number
  /** False for Produce with acks 0, which no broker answers: settles with undefined when sent. */
  readonly expectResponse?: boolean
  /** This very version, without asking what the broker speaks. */
  readonly version?: number
}

interface Pending {
  readonly api: Api
  readonly encode: (version: number, correlationId: number) => Uint8Array[]
  readonly options: RequestOptions
  readonly reply: Later<Result<unknown>>
  timer: Timer | undefined
  version: number
  correlationId: number
}

export class Connection {
  readonly host: string
  readonly port: number
  readonly #options: ConnectionOptions
  readonly #env: Env
  readonly #reader: FrameReader
  #channel: Channel | undefined
  #versions: Versions | undefined
  #closed = false
  #waiting: Pending[] = []
  #inFlight: Pending[] = []
  #correlationId = 0
  #mutedUntil = 0
  #unmute: Timer | undefined

  constructor(options: ConnectionOptions) {
    this.host = options.host
    this.port = options.port
    this.#options = options
    this.#env = options.env
    this.#reader = new FrameReader(options.maxFrameBytes, frame => this.#receiveFrame(frame))
    this.#channel = options.transport.open(options.host, options.port, {
      receive: bytes => this.#receive(bytes),
      closed: () => this.#end(`the connection to ${this.host}:${this.port} was closed`),
    })
    if (this.#closed) this.#channel.close()
    else this.#negotiate()
  }

  get closed(): boolean {
    return this.#closed
  }

  /** True once the versions are known and requests go out. */
  get ready(): boolean {
    return this.#versions !== undefined && !this.#closed
  }

  /** How many requests wait for a response or for their turn. */
  get load(): number {
    return this.#waiting.length + this.#inFlight.length
  }

  /**
   * Sends a request. Errors: NETWORK_EXCEPTION when the connection ends, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION when the broker
   * lacks the API or something in the body cannot be said in the common version, OTTLA_BAD_RESPONSE.
   */
  request<Q extends Fields, S extends Fields>(
    api: Api<Q, S>,
    body: Body<Q>,
    options: RequestOptions = {},
  ): Later<Result<Decoded<Struct<S>>>> {
    const reply = new Later<Result<Decoded<Struct<S>>>>(this.#env.turns)
    if (this.#closed) {
      reply.settle(fail('NETWORK_EXCEPTION', `the connection to ${this.host}:${this.port} is closed`))
      return reply
    }
    const { clientId } = this.#options
    const pending: Pending = {
      api: api as unknown as Api,
      encode: (apiVersion, correlationId) => {
        const value = typeof body === 'function' ? body(apiVersion) : body
        return encodeRequest(api, { apiKey: api.key, apiVersion, correlationId, clientId }, value)
      },
      options,
      reply: reply as unknown as Later<Result<unknown>>,
      timer: undefined,
      version: 0,
      correlationId: 0,
    }
    pending.timer = this.#env.timer(options.timeoutMs ?? this.#options.requestTimeoutMs, () => this.#timeOut(pending))
    if (options.version === undefined) this.#waiting.push(pending)
    else this.#send(pending, options.version)
    this.#pump()
    return reply
  }

  /** Ends the connection; what waits fails with NETWORK_EXCEPTION. */
  close(): void {
    this.#end(`the connection to ${this.host}:${this.port} was closed by the client`)
  }

  #negotiate(): void {
    const versions = runTask(this.#env.turns, askVersions(this, this.#options.maxVersions))
    versions.whenSettled(result => {
      if (!result.ok) return this.#end(`${this.host}:${this.port} did not tell its versions: ${result.error.message}`)
      this.#versions = result.value
      this.#pump()
    })
  }

  #pump(): void {
    while (this.#versions !== undefined && this.#waiting.length > 0 && !this.#closed) {
      if (this.#inFlight.length >= this.#options.maxInFlight || this.#muted()) return
      const pending = this.#waiting.shift() as Pending
      const version = this.#versions.of(pending.api)
      if (version === undefined) {
        this.#settle(
          pending,
          fail('UNSUPPORTED_VERSION', `${this.host}:${this.port} does not speak ${pending.api.name}`),
        )
      } else this.#send(pending, version)
    }
  }

  /** A broker that throttles us tells for how long it will not read: sending would only fill its buffer (KIP-219). */
  #muted(): boolean {
    const left = this.#mutedUntil - this.#env.now()
    if (left <= 0) return false
    this.#unmute ??= this.#env.timer(left, () => {
      this.#unmute = undefined
      this.#pump()
    })
    return true
  }

  #send(pending: Pending, version: number): void {
    pending.version = version
    pending.correlationId = this.#correlationId
    let parts: Uint8Array[]
    try {
      parts = pending.encode(version, pending.correlationId)
    } catch (error) {
      if (!(error instanceof EncodeError)) throw error
      return this.#settle(pending, fail('UNSUPPORTED_VERSION', `${pending.api.name} ${version}: ${error.message}`))
    }
    this.#correlationId = (this.#correlationId + 1) & 0x7fffffff
    if (pending.options.expectResponse === false) this.#settle(pending, ok(undefined))
    else this.#inFlight.push(pending)
    this.#channel?.send(parts)
  }

  #receive(bytes: Uint8Array): void {
    if (this.#closed) return
    try {
      this.#reader.push(bytes)
    } catch (error) {
      // Whatever the decoder trips over, a broken length or a body cut short: nothing behind it can be trusted.
      const message = error instanceof Error ? error.message : String(error)
      const head = this.#inFlight.shift()
      if (head) this.#settle(head, fail('OTTLA_BAD_RESPONSE', `${head.api.name} ${head.version}: ${message}`))
      this.#end(`${this.host}:${this.port} sent what cannot be read: ${message}`)
    }
  }

  #receiveFrame(frame: Uint8Array): void {
    if (this.#closed) return
    const pending = this.#inFlight[0]
    if (pending === undefined) throw new Error('a response that nobody asked for')
    const reader = new ByteReader(frame)
    const version = responseVersion(pending, frame)
    const header = readResponseHeader(pending.api, version, reader)
    if (header.correlationId !== pending.correlationId) {
      throw new Error(`response ${header.correlationId} where ${pending.correlationId} was due`)
    }
    const body = readStruct(pending.api.response, version, isFlexible(pending.api, version), reader)
    this.#inFlight.shift()
    const throttleTimeMs = (body as { throttleTimeMs?: number }).throttleTimeMs ?? 0
    if (throttleTimeMs > 0) this.#mutedUntil = this.#env.now() + throttleTimeMs
    this.#settle(pending, ok(body))
    this.#pump()
  }

  #timeOut(pending: Pending): void {
    const { api, version } = pending
    const message = `${this.host}:${this.port} did not answer ${api.name} ${version} in time`
    this.#settle(pending, fail('REQUEST_TIMED_OUT', message))
    this.#waiting = this.#waiting.filter(other => other !== pending)
    if (this.#inFlight.includes(pending)) this.#end(message)
  }

  #settle(pending: Pending, result: Result<unknown>): void {
    pending.timer?.cancel()
    pending.reply.settle(result)
  }

  #end(message: string): void {
    if (this.#closed) return
    this.#closed = true
    this.#unmute?.cancel()
    this.#channel?.close()
    const pending = [...this.#inFlight, ...this.#waiting]
    this.#inFlight = []
    this.#waiting = []
    for (const each of pending) this.#settle(each, fail('NETWORK_EXCEPTION', message))
  }
}

const API_VERSIONS_KEY = 18
const UNSUPPORTED_VERSION = 35

/**
 * The version that a response is written in: that of the request, but a broker that does not know the version of an
 * ApiVersions request answers in version 0 (KIP-511). The error code stands behind the correlation id in all of them.
 */
function responseVersion(pending: Pending, frame: Uint8Array): number {
  if (pending.api.key !== API_VERSIONS_KEY || frame.length < 6) return pending.version
  return ((frame[4] << 8) | frame[5]) === UNSUPPORTED_VERSION ? 0 : pending.version
}
