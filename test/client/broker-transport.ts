/**
 * The client's transport onto brokers in the same process: no socket, each chunk of bytes a turn of its own, or a moment
 * later when there is latency; what is under way when a channel breaks is lost. The buffers that either side received are overwritten afterwards, so that whoever kept a view of them is found out.
 */

import type { Broker } from '../../src/broker/broker.ts'
import type { Channel, ChannelEvents, Transport } from '../../src/client/transport.ts'
import { concat } from '../../src/util/byte-writer.ts'
import type { Env } from '../../src/util/env.ts'

export class BrokerTransport implements Transport {
  readonly #env: Env
  readonly #brokers = new Map<string, Broker>()
  readonly #open = new Set<() => void>()
  #ports = 50_000

  readonly #latencyMs: () => number

  /** @param latencyMs how long each chunk takes; chunks never overtake each other */
  constructor(env: Env, latencyMs: () => number = () => 0) {
    this.#env = env
    this.#latencyMs = latencyMs
  }

  /** One direction of a channel: runs what it is given in order, each after its latency. */
  #wire(): (run: () => void) => void {
    let last = 0
    return run => {
      const latency = this.#latencyMs()
      if (latency === 0 && last < this.#env.now()) return this.#env.turns.enqueue(run)
      last = Math.max(last, this.#env.now() + latency)
      this.#env.timer(last - this.#env.now(), run)
    }
  }

  /** Makes `broker` answer at this address; undefined makes that nobody does. */
  listen(host: string, port: number, broker: Broker | undefined): void {
    if (broker === undefined) this.#brokers.delete(`${host}:${port}`)
    else this.#brokers.set(`${host}:${port}`, broker)
  }

  /** How many channels are open. */
  get channels(): number {
    return this.#open.size
  }

  /** Breaks all channels, as a network does: both sides see the end. */
  breakAll(): void {
    for (const breakOff of [...this.#open]) breakOff()
  }

  open(host: string, port: number, events: ChannelEvents): Channel {
    const { turns } = this.#env
    const broker = this.#brokers.get(`${host}:${port}`)
    if (broker === undefined) {
      turns.enqueue(() => events.closed())
      return { send() {}, close() {} }
    }
    const [towards, back] = [this.#wire(), this.#wire()]
    let open = true
    const end = () => {
      if (!open) return
      open = false
      this.#open.delete(breakOff)
      turns.enqueue(() => events.closed())
    }
    const near = broker.connect(
      {
        send: (parts, taken) => {
          const bytes = concat(parts)
          back(() => {
            taken()
            if (open) events.receive(bytes)
            bytes.fill(0xdd)
          })
        },
        close: end,
        pause() {},
        resume() {},
      },
      { host: '127.0.0.1', port: this.#ports++, listener: `${host}:${port}` },
    )
    const breakOff = () => {
      end()
      turns.enqueue(() => near.closed())
    }
    this.#open.add(breakOff)
    return {
      send: parts => {
        const bytes = concat(parts)
        towards(() => {
          if (open) near.receive(bytes)
          bytes.fill(0xee)
        })
      },
      close: () => {
        open = false
        this.#open.delete(breakOff)
        turns.enqueue(() => near.closed())
      },
    }
  }
}
