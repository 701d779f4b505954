/**
 * The client's transport onto brokers in the same process: no socket, each chunk of bytes a turn of its own. The buffers
 * that either side received are overwritten afterwards, so that whoever kept a view of them is found out.
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

  constructor(env: Env) {
    this.#env = env
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
          turns.enqueue(() => {
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
        turns.enqueue(() => {
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
