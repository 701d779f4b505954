/**
 * Where a scenario is played: a clock, and lines to a broker or several. One kind of world has virtual time and no sockets, the
 * other TCP and real time; who plays cannot tell them apart.
 */

import type { Fault } from './script.ts'

export interface World {
  now(): number
  random(): number
  sleep(ms: number): Promise<void>
  /** A line to this broker, or to one that runs. */
  connect(broker?: number): Promise<Line>
  /** Where several brokers are, to whom something can happen. */
  readonly brokers?: Brokers
}

export interface Brokers {
  /** Those that were not killed, stopped or paused, in ascending order. */
  running(): number[]
  /** Settles once it is done: a broker that starts again takes connections. */
  befall(fault: Fault, broker: number): Promise<void>
}

/** One connection, as bytes. */
export interface Line {
  /** True once the far side has ended it, as far as is known yet. */
  readonly closed: boolean
  send(bytes: Uint8Array): void
  /** The next frame without its length; `closed` when none can come any more, undefined when none came in time. */
  read(ms: number): Promise<Uint8Array | 'closed' | undefined>
  close(): void
}

/** Bytes that came, cut into frames. */
export class FrameInbox {
  #bytes = Buffer.alloc(0)

  offer(bytes: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
  }

  take(): Uint8Array | undefined {
    if (this.#bytes.length < 4) return undefined
    const length = this.#bytes.readInt32BE()
    if (length < 0) throw new Error(`frame length ${length}`)
    if (this.#bytes.length < 4 + length) return undefined
    const frame = Uint8Array.from(this.#bytes.subarray(4, 4 + length))
    this.#bytes = this.#bytes.subarray(4 + length)
    return frame
  }
}
