import { KafkaError } from '../protocol/errors.ts'

/**
 * When each client last asked what metrics to push, and last pushed: who comes too early is told to wait (KIP-714,
 * `ClientMetricsInstance`). A bounded number of clients is remembered; who is forgotten starts afresh.
 */

const MOST_CLIENTS = 1000

interface Client {
  lastGet: number
  lastPush: number
  terminating: boolean
}

export class TelemetryClients {
  readonly #clients = new Map<string, Client>()
  readonly #pushIntervalMs: number

  constructor(pushIntervalMs: number) {
    this.#pushIntervalMs = pushIntervalMs
  }

  /** The client asks for its subscription. */
  asks(id: string, now: number): void {
    const client = this.#client(id)
    if (now - Math.max(client.lastGet, client.lastPush) < this.#pushIntervalMs) {
      throw new KafkaError('THROTTLING_QUOTA_EXCEEDED')
    }
    client.lastGet = now
  }

  /** The client pushes: once after it asked, then once per interval, and a last time when it ends. */
  pushes(id: string, now: number, terminating: boolean): void {
    const client = this.#client(id)
    if (client.terminating) throw new KafkaError('INVALID_REQUEST')
    const due = client.lastGet > client.lastPush || now - client.lastPush >= this.#pushIntervalMs
    if (!due && !terminating) throw new KafkaError('THROTTLING_QUOTA_EXCEEDED')
    if (due) client.lastPush = now
  }

  /** Nothing more may come of this client. */
  ends(id: string): void {
    this.#client(id).terminating = true
  }

  #client(id: string): Client {
    let client = this.#clients.get(id)
    if (client === undefined) {
      const [oldest] = this.#clients.keys()
      if (this.#clients.size >= MOST_CLIENTS) this.#clients.delete(oldest)
      client = { lastGet: Number.NEGATIVE_INFINITY, lastPush: Number.NEGATIVE_INFINITY, terminating: false }
      this.#clients.set(id, client)
    }
    return client
  }
}
