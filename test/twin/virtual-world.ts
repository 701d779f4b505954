import type { Broker } from '../../src/broker/broker.ts'
import type { BrokerConnection } from '../../src/broker/sink.ts'
import type { Cluster } from '../../src/cluster/index.ts'
import { concat } from '../../src/util/byte-writer.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import { startTestBroker } from '../broker/harness.ts'
import { FrameInbox, type Line, type World } from './world.ts'

/** A broker of its own in virtual time, without sockets: waiting is moving its clock, one timer after the other. */
export class VirtualWorld implements World {
  readonly env: VirtualEnv
  readonly #cluster: Cluster

  constructor(configs: Record<string, string>) {
    const { env, cluster } = startTestBroker({ configs })
    this.env = env
    this.#cluster = cluster
  }

  now(): number {
    return this.env.now()
  }

  random(): number {
    return this.env.random()
  }

  async sleep(ms: number): Promise<void> {
    this.env.advance(ms)
  }

  async connect(): Promise<Line> {
    return new VirtualLine(this.env, this.#cluster.broker(1), 'localhost:9092')
  }
}

/** A line to a broker in virtual time. */
export class VirtualLine implements Line {
  closed = false
  readonly #env: VirtualEnv
  readonly #inbox = new FrameInbox()
  readonly #connection: BrokerConnection

  constructor(env: VirtualEnv, broker: Broker, listener: string) {
    this.#env = env
    this.#connection = broker.connect(
      {
        send: (parts, taken) => {
          this.#inbox.offer(concat(parts))
          taken()
        },
        close: () => {
          this.closed = true
        },
        pause() {},
        resume() {},
      },
      { host: '127.0.0.1', port: 50_000, listener },
    )
  }

  send(bytes: Uint8Array): void {
    // The broker owns the buffer only during the call: whoever kept a view of it is found out.
    const received = Uint8Array.from(bytes)
    this.#connection.receive(received)
    received.fill(0xee)
    this.#env.settle()
  }

  async read(ms: number): Promise<Uint8Array | 'closed' | undefined> {
    const end = this.#env.now() + ms
    for (;;) {
      const frame = this.#inbox.take()
      if (frame !== undefined) return frame
      if (this.closed) return 'closed'
      const left = end - this.#env.now()
      if (left <= 0) return undefined
      const due = this.#env.nextDue ?? end
      this.#env.advance(Math.min(left, Math.max(0, due - this.#env.now())))
    }
  }

  close(): void {
    if (!this.closed) this.#connection.closed()
    this.closed = true
    this.#env.settle()
  }
}
