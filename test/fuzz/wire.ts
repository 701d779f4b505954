import { connect, type Socket } from 'node:net'

/**
 * One TCP connection to a broker: frames out, frames in, in order. It does not know what they mean.
 */

/** The frame without its length, or undefined when the connection ended before it came. */
export type Receive = (frame: Uint8Array | undefined) => void

export class Wire {
  readonly #socket: Socket
  readonly #waiting: Receive[] = []
  #received: Buffer = Buffer.alloc(0)
  #closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', data => this.#receive(data))
    socket.on('error', () => {})
    socket.on('close', () => this.#close())
  }

  static async open(host: string, port: number): Promise<Wire> {
    const socket = connect({ host, port, noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new Wire(socket)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** True while an answer is awaited. */
  get waiting(): boolean {
    return this.#waiting.length > 0
  }

  send(frame: Uint8Array, receive: Receive | undefined): void {
    if (this.#closed) {
      receive?.(undefined)
      return
    }
    if (receive !== undefined) this.#waiting.push(receive)
    this.#socket.write(frame)
  }

  close(): void {
    this.#socket.destroy()
    this.#close()
  }

  #receive(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data])
    while (this.#received.length >= 4) {
      const end = 4 + this.#received.readInt32BE(0)
      if (this.#received.length < end) return
      const frame = Uint8Array.from(this.#received.subarray(4, end))
      this.#received = this.#received.subarray(end)
      this.#waiting.shift()?.(frame)
    }
  }

  #close(): void {
    this.#closed = true
    for (const receive of this.#waiting.splice(0)) receive(undefined)
  }
}
