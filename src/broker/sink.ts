/**
 * The far side of a connection, as the broker sees it: somebody who takes responses. A TCP socket in `node/`, a client
 * of our own in tests and in process.
 */
export interface ConnectionSink {
  /**
   * Takes the parts of one response, in order behind all before it. They are not changed afterwards (record bytes may be
   * views of the log); `taken` is called when they have left, and counts against the budget of unsent bytes until then.
   */
  send(parts: Uint8Array[], taken: () => void): void
  /** Ends the connection: what was sent before still goes out. */
  close(): void
  /** Stops and restarts the flow of received bytes (read-ahead is bounded). */
  pause(): void
  resume(): void
}

/** What is known of who connects. */
export interface ConnectionPeer {
  readonly host: string
  readonly port: number
  /** The address of the listener that was connected to, as advertised. */
  readonly listener: string
}

/** The near side: what the owner of the socket calls. Every call is followed by `env.turns.drain()`. */
export interface BrokerConnection {
  readonly id: number
  /** Bytes arrived. They are only valid during the call: what must stay is copied. */
  receive(bytes: Uint8Array): void
  /** The far side is gone: parked requests end, timers stop. */
  closed(): void
}
