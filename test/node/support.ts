/**
 * What the tests of `node/` share: a stand-in for the broker that records what it is told, and plain sockets as clients.
 */
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from '../../src/broker/sink.ts'
import type { Acceptor } from '../../src/node/server.ts'
import { SystemEnv } from '../../src/node/system-env.ts'

/** A SystemEnv that keeps its log lines and what was fatal. */
export function recordingEnv(): { env: SystemEnv; lines: string[]; fatal: Error[] } {
  const lines: string[] = []
  const fatal: Error[] = []
  const env = new SystemEnv({
    log: (level, message) => lines.push(`${level} ${message}`),
    onFatal: error => fatal.push(error),
  })
  return { env, lines, fatal }
}

/** One connection as {@link ScriptedBroker} saw it. */
export interface Seen {
  sink: ConnectionSink
  peer: ConnectionPeer
  received: Uint8Array[]
  bytes: number
  /** How many bytes were sent and not yet taken. */
  unsent: number
  closed: boolean
  /** Sends and counts what is not taken yet. */
  send(...parts: Uint8Array[]): void
}

/** Takes connections and does with received bytes what the test says; echoes them unless told otherwise. */
export class ScriptedBroker implements Acceptor {
  readonly seen: Seen[] = []
  onReceive: (connection: Seen, bytes: Uint8Array) => void = (connection, bytes) => connection.send(bytes.slice())

  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection {
    const seen: Seen = {
      sink,
      peer,
      received: [],
      bytes: 0,
      unsent: 0,
      closed: false,
      send(...parts) {
        const bytes = parts.reduce((sum, part) => sum + part.length, 0)
        seen.unsent += bytes
        sink.send(parts, () => {
          seen.unsent -= bytes
        })
      },
    }
    this.seen.push(seen)
    return {
      id: this.seen.length,
      receive: bytes => {
        seen.bytes += bytes.length
        seen.received.push(bytes.slice(0, 64))
        this.onReceive(seen, bytes)
      },
      closed: () => {
        seen.closed = true
      },
    }
  }
}

/** A client: a socket that keeps everything it read. */
export class Client {
  readonly socket: Socket
  readonly chunks: Buffer[] = []
  ended = false
  closed = false

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', chunk => this.chunks.push(chunk))
    this.socket.on('end', () => {
      this.ended = true
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.closed = true
    })
  }

  static async open(port: number): Promise<Client> {
    const client = new Client(port)
    await once(client.socket, 'connect')
    return client
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  }
}

/** Waits, in real time because sockets are, until `ready` holds. */
export async function until(ready: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!ready()) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

/** An ApiVersions v0 request, which every Kafka broker answers. */
export const API_VERSIONS = Buffer.from('0000000e' + '00120000' + '00000007' + '0004' + '74657374', 'hex')

/** Sends ApiVersions and gives the answer; fails when none comes. */
export async function askApiVersions(port: number): Promise<Buffer> {
  const client = await Client.open(port)
  client.socket.write(API_VERSIONS)
  await until(() => client.bytes >= 4 || client.closed, 'an answer to ApiVersions')
  client.socket.destroy()
  return Buffer.concat(client.chunks)
}

/** Asks an HTTP side for a page, under a Host of one's own if need be. */
export function fetchPath(base: string, path: string, host?: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = get(`${base}${path}`, { headers: host === undefined ? {} : { host } }, response => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode as number, body }))
    })
    request.on('error', reject)
  })
}
