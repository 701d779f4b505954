/**
 * A network between processes: byte streams with latency, cut into chunks anywhere, never out of order within a stream; reset in
 * the middle of a frame, held up while a machine cannot be reached, silent when its power is gone. Buffers that were received
 * are overwritten afterwards, so that whoever kept a view of them is found out.
 */

import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../../src/broker/sink.ts'
import type { Channel, ChannelEvents, Transport } from '../../src/client/transport.ts'
import { concat } from '../../src/util/byte-writer.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import type { Chance } from './chance.ts'
import type { ProcessEnv } from './process-env.ts'

/** What takes connections at an address. */
export interface Listener {
  readonly env: ProcessEnv
  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection
}

export interface NetworkConditions {
  /** At least 1 ms, or a reader that is answered at once would ask for ever in one moment. */
  readonly minLatencyMs: number
  readonly maxLatencyMs: number
  /** How often a piece of bytes arrives in two. */
  readonly splits: number
}

export class SimulatedNetwork {
  readonly #world: VirtualEnv
  readonly #chance: Chance
  readonly #conditions: NetworkConditions
  readonly #listeners = new Map<string, Listener>()
  readonly #streams = new Set<Stream>()
  readonly #cutOff = new Set<string>()
  #ports = 50_000

  constructor(world: VirtualEnv, chance: Chance, conditions: NetworkConditions) {
    this.#world = world
    this.#chance = chance
    this.#conditions = conditions
  }

  listen(address: string, listener: Listener): void {
    this.#listeners.set(address, listener)
  }

  /** How many streams are open. */
  get streams(): number {
    return this.#streams.size
  }

  /** A client's way into the network. */
  transport(env: ProcessEnv): Transport {
    return { open: (host, port, events) => this.#open(env, `${host}:${port}`, events) }
  }

  /** Breaks one stream, or none when there is none; what is under way is lost. */
  resetOne(): void {
    const streams = [...this.#streams]
    if (streams.length > 0) this.#chance.pick(streams).reset()
  }

  /** The client at the end of one stream takes nothing for a while: what the broker sends waits. */
  slowReader(ms: number): void {
    const streams = [...this.#streams]
    if (streams.length === 0) return
    const stream = this.#chance.pick(streams)
    stream.holdBack(true)
    this.after(ms, () => stream.holdBack(false))
  }

  resetAll(): void {
    for (const stream of [...this.#streams]) stream.reset()
  }

  /** Nothing reaches an address any more, nor leaves it, until it is restored: then all of it arrives. */
  cutOff(address: string): void {
    this.#cutOff.add(address)
  }

  restore(address: string): void {
    this.#cutOff.delete(address)
    for (const stream of this.#streams) if (stream.address === address) stream.release()
  }

  /** A process ended. Its system says so to the other sides, unless the power is gone: then they find out late. */
  processDied(env: ProcessEnv, kind: 'kill' | 'power'): void {
    for (const [address, listener] of this.#listeners) if (listener.env === env) this.#listeners.delete(address)
    for (const stream of [...this.#streams]) {
      if (kind === 'kill') stream.died(env, 0, this.#chance.maybe(0.5))
      else stream.died(env, this.#chance.between(50, 3000), false)
    }
  }

  isCutOff(address: string): boolean {
    return this.#cutOff.has(address)
  }

  latency(): number {
    const { minLatencyMs, maxLatencyMs } = this.#conditions
    // Now and then something is much slower than usual.
    const most = this.#chance.maybe(0.01) ? maxLatencyMs * 10 : maxLatencyMs
    return this.#chance.between(minLatencyMs, most)
  }

  cut(bytes: Uint8Array): Uint8Array[] {
    if (bytes.length < 2 || !this.#chance.maybe(this.#conditions.splits)) return [bytes]
    const at = this.#chance.between(1, bytes.length - 1)
    return [bytes.slice(0, at), bytes.slice(at)]
  }

  after(ms: number, run: () => void): void {
    this.#world.timer(ms, run)
  }

  now(): number {
    return this.#world.now()
  }

  ended(stream: Stream): void {
    this.#streams.delete(stream)
  }

  #open(client: ProcessEnv, address: string, events: ChannelEvents): Channel {
    const stream = new Stream(this, client, address, events)
    this.#streams.add(stream)
    stream.towards.push(() => {
      const listener = this.#listeners.get(address)
      if (listener === undefined) return stream.reset()
      stream.accept(listener, this.#ports++)
    })
    return {
      send: parts => stream.towards.send(concat(parts), () => {}),
      close: () => stream.closedByClient(),
    }
  }
}

/** One direction: what is pushed arrives in order. */
class Pipe {
  readonly #network: SimulatedNetwork
  readonly #address: string
  readonly #arrive: (bytes: Uint8Array) => void
  #last = 0
  #queue: (() => void)[] = []
  /** How many were due while they could not arrive. */
  #held = 0
  #dead = false
  paused = false

  constructor(network: SimulatedNetwork, address: string, arrive: (bytes: Uint8Array) => void) {
    this.#network = network
    this.#address = address
    this.#arrive = arrive
  }

  push(run: () => void): void {
    this.#queue.push(run)
    this.#comeDue()
  }

  /** When its time has come the first in the queue arrives, whichever it is: none overtakes another. */
  #comeDue(): void {
    const network = this.#network
    this.#last = Math.max(this.#last, network.now() + network.latency())
    network.after(this.#last - network.now(), () => {
      if (this.#dead) return
      if (this.paused || network.isCutOff(this.#address)) this.#held++
      else this.#queue.shift()?.()
    })
  }

  send(bytes: Uint8Array, taken: () => void): void {
    const chunks = this.#network.cut(bytes)
    for (const [index, chunk] of chunks.entries()) {
      this.push(() => {
        if (index === chunks.length - 1) taken()
        this.#arrive(chunk)
        chunk.fill(0xee)
      })
    }
  }

  /** What was held up arrives, unless it is held up for another reason. */
  release(): void {
    if (this.#dead || this.paused || this.#network.isCutOff(this.#address)) return
    const held = this.#held
    this.#held = 0
    for (let count = 0; count < held; count++) this.#comeDue()
  }

  /** What is under way is lost. */
  kill(): void {
    this.#dead = true
    this.#queue = []
  }
}

class Stream {
  readonly address: string
  readonly towards: Pipe
  readonly #back: Pipe
  readonly #network: SimulatedNetwork
  readonly #client: ProcessEnv
  readonly #events: ChannelEvents
  #server: { env: ProcessEnv; connection: BrokerConnection } | undefined
  #clientDone = false
  #serverDone = false

  constructor(network: SimulatedNetwork, client: ProcessEnv, address: string, events: ChannelEvents) {
    this.address = address
    this.#network = network
    this.#client = client
    this.#events = events
    this.towards = new Pipe(network, address, bytes =>
      this.#server?.env.enter(() => this.#server?.connection.receive(bytes)),
    )
    this.#back = new Pipe(network, address, bytes => client.enter(() => this.#toClient(() => events.receive(bytes))))
  }

  accept(listener: Listener, port: number): void {
    const { env } = listener
    env.enter(() => {
      const sink: ConnectionSink = {
        send: (parts, taken) => {
          const bytes = concat(parts)
          // What a process that is being struck still says is heard by nobody.
          if (!env.doomed) this.#back.send(bytes, () => env.enter(taken))
        },
        close: () => {
          if (env.doomed) return
          this.#serverDone = true
          this.#back.push(() => this.#closeClient())
        },
        pause: () => {
          this.towards.paused = true
        },
        resume: () => {
          this.towards.paused = false
          this.towards.release()
        },
      }
      const connection = listener.connect(sink, { host: '127.0.0.1', port, listener: this.address })
      this.#server = { env, connection }
    })
  }

  #toClient(run: () => void): void {
    if (!this.#clientDone) run()
  }

  #closeClient(): void {
    if (this.#clientDone) return this.#end()
    this.#clientDone = true
    this.#client.enter(() => this.#events.closed())
    this.#end()
  }

  #closeServer(): void {
    if (this.#serverDone) return this.#end()
    this.#serverDone = true
    this.#server?.env.enter(() => this.#server?.connection.closed())
    this.#end()
  }

  #end(): void {
    if (this.#clientDone && (this.#serverDone || this.#server === undefined)) this.#network.ended(this)
  }

  closedByClient(): void {
    if (this.#clientDone) return
    this.#clientDone = true
    if (this.#serverDone) this.#end()
    // What could not leave is given up with the stream, so that nothing is done for somebody who asked long ago.
    else if (this.#network.isCutOff(this.address)) this.reset()
    else this.towards.push(() => this.#closeServer())
  }

  /** Ends it with everything that is under way. Each side hears of it in its own time. */
  reset(afterMs = 0): void {
    this.towards.kill()
    this.#back.kill()
    this.#network.after(afterMs + this.#network.latency(), () => this.#closeClient())
    this.#network.after(afterMs + this.#network.latency(), () => this.#closeServer())
  }

  release(): void {
    this.towards.release()
    this.#back.release()
  }

  /** The client takes nothing, or does again. */
  holdBack(holds: boolean): void {
    this.#back.paused = holds
    if (!holds) this.#back.release()
  }

  /** One of the two processes is gone; the other hears of it after `afterMs`, perhaps behind what was sent before. */
  died(env: ProcessEnv, afterMs: number, sentArrives: boolean): void {
    if (env !== this.#client && env !== this.#server?.env) return
    if (env === this.#client || !sentArrives) return this.reset(afterMs)
    this.#serverDone = true
    this.towards.kill()
    this.#back.push(() => this.#closeClient())
  }
}
