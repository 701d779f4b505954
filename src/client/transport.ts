/**
 * The port through which the client reaches a broker. Whoever implements it moves bytes, over a socket, inside one process
 * or in a simulated network; it knows nothing of Kafka. The client never asks for more than this.
 */

/** Opens channels. */
export interface Transport {
  /**
   * Opens a byte stream to `host:port`. Returns at once: what is sent before the stream stands is kept and sent then.
   * When it cannot be opened, `events.closed` is called, once, like for every other end. Events come after this has
   * returned, each as an outside event of its own that ends with a drain of the turns.
   */
  open(host: string, port: number, events: ChannelEvents): Channel
}

export interface ChannelEvents {
  /** Bytes arrived, cut anywhere. They are copied before this returns, so the buffer may be reused. */
  receive(bytes: Uint8Array): void
  /** The stream ended, by whatever cause; nothing follows. */
  closed(): void
}

export interface Channel {
  /** Sends `parts` one after the other. They do not change any more. */
  send(parts: Uint8Array[]): void
  /** Ends the stream; `closed` need not be called for it. */
  close(): void
}
