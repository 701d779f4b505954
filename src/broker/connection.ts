import { isFlexible, readStruct } from '../protocol/codec.ts'
import type { Api } from '../protocol/dsl.ts'
import { encodeResponse } from '../protocol/frame.ts'
import { type RequestHeader, readRequestHeader } from '../protocol/header.ts'
import { ByteError, ByteReader } from '../util/byte-reader.ts'
import { totalLength } from '../util/byte-writer.ts'
import type { Timer } from '../util/timer-queue.ts'
import { refuseVersion } from './apis/api-versions.ts'
import type { Broker } from './broker.ts'
import { FrameBuffer } from './frame-buffer.ts'
import {
  type Answer,
  answer,
  CLOSE_CONNECTION,
  type Handler,
  isLater,
  NO_RESPONSE,
  type RequestContext,
} from './handler.ts'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from './sink.ts'

/** A receive buffer up to this size is kept for the requests to come. */
const KEPT_BYTES = 2 * 1024 * 1024
/** Requests that lie there are worked on for so long before others have their turn; most clients have a handful under way. */
const TURN_MS = 10

/**
 * One connection: bytes in, responses out. Requests are worked on one at a time and answered in order, also across one that
 * waits, as clients rely on (`SocketServer` mutes a channel the same way). What is unreadable ends the connection and
 * harms nobody else.
 */
export class Connection implements BrokerConnection {
  readonly id: number
  readonly #broker: Broker
  readonly #sink: ConnectionSink
  readonly #peer: ConnectionPeer
  readonly #frames = new FrameBuffer()
  #working = false
  #waiting = false
  /** Runs while the client has used more than its quota, or its turn: nothing more is worked on until it ends. */
  #throttle: Timer | undefined
  /** True when nothing is worked on after the request that waits. */
  #last = false
  #ended = false
  #paused = false
  #unsent = 0
  /** What the buffer for received bytes takes, as it was counted last. */
  #room = 0
  #lastActive: number
  /** None where connections may idle for ever. */
  #idleTimer: Timer | undefined

  constructor(id: number, broker: Broker, sink: ConnectionSink, peer: ConnectionPeer) {
    this.id = id
    this.#broker = broker
    this.#sink = sink
    this.#peer = peer
    this.#lastActive = broker.env.now()
    this.#idleTimer = this.#armIdleTimer()
    if (!broker.isServing) broker.lifecycle.up.whenSettled(() => this.#goOn())
  }

  receive(bytes: Uint8Array): void {
    if (this.#ended) return
    this.#lastActive = this.#broker.env.now()
    this.#frames.offer(bytes)
    this.#work()
    this.#frames.keep()
    this.#account()
  }

  closed(): void {
    this.#end()
  }

  /** Ends the connection from our side: what was sent before still goes out. */
  close(): void {
    if (this.#ended) return
    this.#end()
    this.#sink.close()
  }

  /** Ends the connection once the request that waits, if one does, is answered. */
  closeOnceAnswered(): void {
    if (this.#waiting) this.#last = true
    else this.close()
  }

  /** Nothing is worked on for now. */
  get #rests(): boolean {
    return this.#waiting || this.#throttle !== undefined || this.#congested() || !this.#broker.isServing
  }

  #goOn(): void {
    if (this.#ended) return
    this.#lastActive = this.#broker.env.now()
    this.#work()
    this.#account()
  }

  /** Works on whole frames until one waits, the far side takes no more, or none is left. */
  #work(): void {
    if (this.#working) return
    this.#working = true
    const { env } = this.#broker
    const began = env.now()
    while (!this.#ended && !this.#rests) {
      if (env.now() - began >= TURN_MS) {
        this.#rest(0)
        break
      }
      const frame = this.#nextFrame()
      if (frame === undefined) break
      this.#request(frame)
    }
    this.#working = false
    // While many connections are busy nobody keeps a buffer for the next request.
    const { limits, traffic } = this.#broker
    this.#frames.release(traffic.received < limits.receivedBytesTotal / 2 ? KEPT_BYTES : 0)
  }

  #congested(): boolean {
    const { limits, traffic } = this.#broker
    return this.#unsent > limits.unsentBytes || (this.#unsent > 0 && traffic.unsent > limits.unsentBytesTotal)
  }

  #nextFrame(): Uint8Array | undefined {
    const length = this.#frames.nextLength()
    if (length === undefined) return undefined
    if (length < 0 || length > this.#broker.maxRequestBytes) {
      this.#fail(`a request of ${length} bytes (socket.request.max.bytes is ${this.#broker.maxRequestBytes})`)
      return undefined
    }
    return this.#frames.take(length)
  }

  #request(frame: Uint8Array): void {
    const reader = new ByteReader(frame)
    reader.elementsLeft = this.#broker.limits.requestElements
    let handler: Handler | undefined
    let header: RequestHeader
    let request: unknown
    try {
      const apiKey = reader.int16()
      const version = reader.int16()
      const correlationId = reader.int32()
      handler = this.#broker.handlers.get(apiKey)
      if (handler === undefined) return this.#fail(`a request for API ${apiKey}, which is not served`)
      const { api } = handler
      const [min, max] = handler.versions
      if (version < min || version > max) {
        const refusal = refuseVersion(handler, correlationId)
        if (refusal === undefined) return this.#fail(`${api.name} v${version} (served: v${min} to v${max})`)
        return this.#send(refusal)
      }
      reader.position = 0
      header = readRequestHeader(api, version, reader)
      request = readStruct(api.request, version, isFlexible(api, version), reader)
    } catch (error) {
      if (error instanceof ByteError) return this.#fail(`a request that cannot be read: ${error.message}`)
      return this.#fatal(error, handler?.api)
    }
    this.#dispatch(handler, header, request, frame.length)
  }

  #dispatch(handler: Handler, header: RequestHeader, request: unknown, requestBytes: number): void {
    const { env } = this.#broker
    const { api } = handler
    const now = env.now()
    const context: RequestContext = {
      broker: this.#broker,
      apiVersion: header.apiVersion,
      clientId: header.clientId,
      connectionId: this.id,
      peer: this.#peer,
      now,
      received: now,
      requestBytes,
      throttleTimeMs: 0,
    }
    // Records die when the handler returns, so what is told of them is looked at before.
    const seen = this.#broker.requestLog.look(api, request, context)
    const finish = (response: Answer<unknown>) => {
      if (context.throttleTimeMs > 0) this.#mute(context.throttleTimeMs, response)
      this.#respond(api, header, response)
      this.#broker.counters.request(api.name)
      if (seen !== undefined) this.#broker.requestLog.answered(seen, response, env.now())
    }
    try {
      const { interceptor } = this.#broker
      const reply =
        interceptor === undefined ? answer(handler, request, context) : interceptor.handle(handler, request, context)
      if (!isLater(reply)) return finish(reply)
      this.#waiting = true
      reply.whenSettled(response => {
        this.#waiting = false
        this.#lastActive = env.now()
        if (this.#ended) return
        finish(response)
        if (this.#last) return this.close()
        this.#work()
        this.#account()
      })
    } catch (error) {
      this.#fatal(error, api)
    }
  }

  /** Tells the client to pause, and does not wait for it to do so: its next request is worked on when the time is over. */
  #mute(throttleTimeMs: number, response: Answer<unknown>): void {
    if (typeof response === 'object') Object.assign(response as object, { throttleTimeMs })
    this.#rest(throttleTimeMs)
  }

  #rest(delayMs: number): void {
    const goOn = () => {
      this.#throttle = undefined
      this.#goOn()
    }
    this.#throttle = this.#broker.env.timer(delayMs, goOn, 'client')
  }

  #respond(api: Api, header: RequestHeader, response: Answer<unknown>): void {
    if (response === NO_RESPONSE) return
    if (response === CLOSE_CONNECTION) return this.close()
    try {
      this.#send(encodeResponse(api, header.apiVersion, header.correlationId, response as object))
    } catch (error) {
      this.#fatal(error, api)
    }
  }

  #send(parts: Uint8Array[]): void {
    const length = totalLength(parts)
    const { traffic } = this.#broker
    this.#unsent += length
    traffic.unsent += length
    this.#sink.send(parts, () => {
      // What was never taken was given back when the connection ended.
      if (this.#ended) return
      this.#unsent -= length
      traffic.unsent -= length
      if (this.#waiting) return
      this.#work()
      this.#account()
    })
  }

  /** Counts what is read ahead, pauses the socket when it is too much, and ends who would pass the bound of all. */
  #account(): void {
    const { limits, traffic } = this.#broker
    const room = this.#ended ? 0 : this.#frames.room
    traffic.received += room - this.#room
    this.#room = room
    if (this.#ended) return
    if (traffic.received > limits.receivedBytesTotal)
      return this.#fail('more unread bytes than all connections may hold')
    const full = this.#rests && this.#frames.held > limits.readAheadBytes
    if (full === this.#paused) return
    this.#paused = full
    if (full) this.#sink.pause()
    else this.#sink.resume()
  }

  /** What was sent is not a request that can be answered: one line, and the connection ends. */
  #fail(reason: string): void {
    const { counters, refusals } = this.#broker
    counters.refusedConnections++
    refusals.log(`closing connection ${this.id} from ${this.#peer.host}:${this.#peer.port}: ${reason}`, {
      connection: this.id,
    })
    this.close()
  }

  /** A mistake of ours: never swallowed, and nobody else pays for it. */
  #fatal(error: unknown, api: Api | undefined): void {
    this.#broker.fatal(error, { api: api?.name ?? 'unknown', connection: this.id })
    this.close()
  }

  #armIdleTimer(): Timer | undefined {
    const { env } = this.#broker
    const maxIdleMs = this.#broker.config.number('connections.max.idle.ms')
    if (maxIdleMs < 0) return undefined
    const rest = Math.max(1, this.#lastActive + maxIdleMs - env.now())
    const check = () => {
      if (this.#ended) return
      const idle = env.now() - this.#lastActive
      if (!this.#waiting && idle >= maxIdleMs) {
        env.log('debug', `closing connection ${this.id}: idle for ${idle} ms`, { connection: this.id })
        this.close()
      } else {
        if (this.#waiting) this.#lastActive = env.now()
        this.#idleTimer = this.#armIdleTimer()
      }
    }
    return env.timer(rest, check, 'client')
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#idleTimer?.cancel()
    this.#throttle?.cancel()
    const { traffic } = this.#broker
    traffic.received -= this.#room
    traffic.unsent -= this.#unsent
    this.#room = 0
    this.#unsent = 0
    this.#broker.disconnected(this)
  }
}
