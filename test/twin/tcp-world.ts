import { connect, type Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { FrameInbox, type Line, type World } from './world.ts'

/** A broker behind TCP, in real time: Ottla or Kafka. */
export class TcpWorld implements World {
  readonly #host: string
  readonly #port: number

  constructor(host: string, port: number) {
    this.#host = host
    this.#port = port
  }

  now(): number {
    return Date.now()
  }

  random(): number {
    return Math.random()
  }

  async sleep(ms: number): Promise<void> {
    await sleep(ms)
    await caughtUp()
  }

  connect(): Promise<Line> {
    return connectTo(this.#host, this.#port)
  }
}

/** Opens a line. */
export function connectTo(host: string, port: number): Promise<Line> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => {
      socket.off('error', reject)
      resolve(new TcpLine(socket))
    })
    socket.once('error', reject)
  })
}

class TcpLine implements Line {
  closed = false
  readonly #socket: Socket
  readonly #inbox = new FrameInbox()
  /** Who waits for the next frame. */
  #wake = () => {}

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', bytes => {
      this.#inbox.offer(bytes)
      this.#wake()
    })
    // A connection that breaks is closed too.
    socket.on('error', () => {})
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.closed = true
        this.#wake()
      })
    }
  }

  send(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  async read(ms: number): Promise<Uint8Array | 'closed' | undefined> {
    const end = Date.now() + ms
    for (let late = false; ; ) {
      const frame = this.#inbox.take()
      if (frame !== undefined) return frame
      if (this.closed) return 'closed'
      const left = end - Date.now()
      if (left > 0) await this.#next(left)
      else if (late) return undefined
      else {
        await caughtUp()
        late = true
      }
    }
  }

  close(): void {
    this.closed = true
    this.#socket.destroy()
  }

  #next(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/**
 * Passes once sockets have been read, new ones too. A broker may share this thread, and a timer that comes late must not be
 * taken for time that it had.
 */
async function caughtUp(): Promise<void> {
  for (let round = 0; round < 20; round++) await turn()
}
