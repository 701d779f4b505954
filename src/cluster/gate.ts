import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../broker/sink.ts'
import type { BrokerNode } from './broker-node.ts'

/**
 * Where clients connect to one place of a cluster, whichever process runs there: while it is paused connections are accepted, as the system
 * does that, and what arrives on them waits.
 */
export class Gate {
  readonly #node: BrokerNode
  readonly #connections = new Set<GatedConnection>()
  #isPaused = false

  constructor(node: BrokerNode) {
    this.#node = node
  }

  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection {
    const connection = new GatedConnection(sink, this.#isPaused, () => this.#connections.delete(connection))
    this.#connections.add(connection)
    connection.attach(this.#node.broker.connect(connection, peer))
    return connection
  }

  /** Nothing that arrives gets through until {@link resume}. */
  pause(): void {
    this.#isPaused = true
    for (const connection of this.#connections) connection.hold()
  }

  resume(): void {
    this.#isPaused = false
    for (const connection of [...this.#connections]) connection.letGo()
  }
}

/** Stands between a socket and a broker, and holds back what comes from the socket while the broker is paused. */
class GatedConnection implements BrokerConnection, ConnectionSink {
  readonly #sink: ConnectionSink
  readonly #ended: () => void
  #inner: BrokerConnection | undefined
  /** What arrived meanwhile: bytes, or that the far side is gone. Undefined while nothing is held back. */
  #held: (Uint8Array | 'closed')[] | undefined
  /** The broker wants no more bytes. */
  #pausedByBroker = false

  constructor(sink: ConnectionSink, paused: boolean, ended: () => void) {
    this.#sink = sink
    this.#ended = ended
    if (paused) this.hold()
  }

  attach(inner: BrokerConnection): void {
    this.#inner = inner
  }

  get id(): number {
    return (this.#inner as BrokerConnection).id
  }

  hold(): void {
    this.#held ??= []
    this.#sink.pause()
  }

  letGo(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const each of held) {
      if (each === 'closed') this.closed()
      else this.receive(each)
    }
    if (!this.#pausedByBroker) this.#sink.resume()
  }

  receive(bytes: Uint8Array): void {
    if (this.#held === undefined) this.#inner?.receive(bytes)
    else this.#held.push(bytes.slice())
  }

  closed(): void {
    if (this.#held !== undefined) {
      this.#held.push('closed')
      return
    }
    this.#ended()
    this.#inner?.closed()
  }

  send(parts: Uint8Array[], taken: () => void): void {
    this.#sink.send(parts, taken)
  }

  close(): void {
    this.#ended()
    this.#sink.close()
  }

  pause(): void {
    this.#pausedByBroker = true
    this.#sink.pause()
  }

  resume(): void {
    this.#pausedByBroker = false
    if (this.#held === undefined) this.#sink.resume()
  }
}
