/**
 * The TCP server of one listener: accepts, limits how many, hands each socket to the broker, and closes in good order.
 * Not here: what the bytes mean (broker/), and how one socket is read and written (socket-connection.ts).
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../broker/sink.ts'
import { listenError } from './listen-error.ts'
import { SocketConnection, type SocketOwner } from './socket-connection.ts'
import type { SystemEnv } from './system-env.ts'

/** One for all sockets of a server: Node reads into it and hands it over in the same breath. */
const RECEIVE_BUFFER_BYTES = 256 * 1024
const GRACE_MS = 500
/**
 * A port that is taken may be about to be given back: a child process that is just beginning has all that its parent had open, until it becomes
 * another program. So a broker that starts again tries for a while to have its port.
 */
const TAKEN_TRIES = 25
const TAKEN_PAUSE_MS = 20

/** The side of the broker that takes connections. */
export interface Acceptor {
  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection
}

export interface TcpServerOptions {
  env: SystemEnv
  acceptor: Acceptor
  host: string
  /** 0 for any that is free. */
  port: number
  /** Connections beyond this many, asked anew each time, are closed at once. */
  maxConnections: () => number
  /** How the broker calls this listener, once it listens on `port`. */
  listener?: (port: number) => string
  /** How long the far side of a connection has to close after the server said goodbye; 500 ms by default. */
  graceMs?: number
  /** False reads with plain `data` events, as is done where Node does not take a receive buffer. */
  reuseReceiveBuffer?: boolean
}

export class TcpServer implements SocketOwner {
  readonly env: SystemEnv
  readonly graceMs: number
  readonly #options: TcpServerOptions
  readonly #server: Server
  readonly #connections = new Set<SocketConnection>()
  readonly #buffer: Uint8Array | undefined
  #dirty: SocketConnection[] = []
  #port = 0
  #refused = 0
  #stopFlushing: () => void
  #empty: (() => void) | undefined

  /** Resolves once connections are accepted. Throws an `OttlaError` when the system refuses to listen. */
  static async listen(options: TcpServerOptions): Promise<TcpServer> {
    const server = new TcpServer(options)
    for (let left = TAKEN_TRIES; ; left--) {
      try {
        await server.#listen()
        return server
      } catch (thrown) {
        const error = thrown as NodeJS.ErrnoException
        if (error.code !== 'EADDRINUSE' || left === 0) {
          server.#stopFlushing()
          throw listenError(error, options.host, options.port)
        }
      }
      await setTimeout(TAKEN_PAUSE_MS)
    }
  }

  private constructor(options: TcpServerOptions) {
    this.#options = options
    this.env = options.env
    this.graceMs = options.graceMs ?? GRACE_MS
    if (options.reuseReceiveBuffer !== false) this.#buffer = new Uint8Array(RECEIVE_BUFFER_BYTES)
    this.#server = createServer({ noDelay: true, keepAlive: true, pauseOnConnect: true }, socket =>
      this.#accept(socket),
    )
    this.#stopFlushing = options.env.afterEvents(() => this.#flush())
  }

  /** The port that it listens on, or listened on before it was closed. */
  get port(): number {
    return this.#port
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#connections.size
  }

  /** Stops to accept; connections that are open go on. */
  stopAccepting(): void {
    this.#server.close()
  }

  /** Says goodbye on every connection, after what was sent, and resolves when all are closed; at the latest after the grace. */
  async close(): Promise<void> {
    if (this.#server.listening) this.stopAccepting()
    this.env.event(() => {
      for (const connection of this.#connections) connection.close()
    })
    if (this.#connections.size > 0) {
      await new Promise<void>(resolve => {
        this.#empty = resolve
      })
    }
    this.#stopFlushing()
  }

  /** @internal */
  onDirty(connection: SocketConnection): void {
    this.#dirty.push(connection)
  }

  /** @internal */
  onClosed(connection: SocketConnection): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) this.#empty?.()
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        this.#server.off('error', refuse)
        // Accepting fails when the process is out of file descriptors: those who are connected are still served.
        this.#server.on('error', error => this.env.log('error', 'could not accept', { reason: error.message }))
        this.#port = (this.#server.address() as AddressInfo).port
        resolve()
      }
      const refuse = (error: Error) => {
        this.#server.off('listening', begin)
        reject(error)
      }
      this.#server.once('error', refuse)
      this.#server.once('listening', begin)
      this.#server.listen(this.#options.port, this.#options.host)
    })
  }

  #accept(socket: Socket): void {
    const host = socket.remoteAddress
    const port = socket.remotePort
    // It may have gone again before we looked.
    if (host === undefined || port === undefined) {
      socket.destroy()
      return
    }
    if (this.#connections.size >= this.#options.maxConnections()) {
      this.#refuse(socket, host)
      return
    }
    const connection = new SocketConnection(this, socket, this.#buffer)
    this.#connections.add(connection)
    const listener = this.#options.listener?.(this.port) ?? `${this.#options.host}:${this.port}`
    const connected = this.env.event(() => {
      connection.start(this.#options.acceptor.connect(connection, { host, port, listener }))
    })
    if (!connected) connection.destroy()
  }

  /** Clients retry at once, so a line for each would fill the log: the first is told, then every hundredth. */
  #refuse(socket: Socket, host: string): void {
    socket.on('error', () => {})
    socket.destroy()
    const connections = this.#connections.size
    if (this.#refused++ % 100 === 0) {
      this.env.log('warn', 'too many connections', { host, connections, refused: this.#refused })
    }
  }

  #flush(): void {
    if (this.#dirty.length === 0) return
    const dirty = this.#dirty
    this.#dirty = []
    for (const connection of dirty) connection.flush()
  }
}
