/**
 * The connections of one client. A connection is named by address and lane: since a broker answers one request at a time, in
 * order, whoever may be made to wait (a long-polling fetch, a parked JoinGroup) takes a lane of its own and holds nobody up.
 */

import { Connection, type ConnectionOptions } from './connection.ts'

/** Where a broker can be reached. */
export interface Address {
  readonly host: string
  readonly port: number
}

export const MAIN_LANE = 'main'

export class ConnectionPool {
  readonly #options: Omit<ConnectionOptions, 'host' | 'port'>
  readonly #connections = new Map<string, Connection>()
  #rotation = 0

  constructor(options: Omit<ConnectionOptions, 'host' | 'port'>) {
    this.#options = options
  }

  /** The open connection to `address`, or a new one. */
  to({ host, port }: Address, lane = MAIN_LANE): Connection {
    const key = `${lane} ${host}:${port}`
    const existing = this.#connections.get(key)
    if (existing !== undefined && !existing.closed) return existing
    const connection = new Connection({ ...this.#options, host, port })
    this.#connections.set(key, connection)
    return connection
  }

  /** A connection to any broker: the least busy one that works, else the next address in turn. */
  any(addresses: readonly Address[]): Connection {
    let best: Connection | undefined
    for (const [key, connection] of this.#connections) {
      if (connection.closed) this.#connections.delete(key)
      else if (key.startsWith(`${MAIN_LANE} `) && connection.ready && connection.load < (best?.load ?? Infinity)) {
        best = connection
      }
    }
    return best ?? this.to(addresses[this.#rotation++ % addresses.length])
  }

  /** Closes the connections of a lane. */
  closeLane(lane: string): void {
    for (const [key, connection] of this.#connections) {
      if (!key.startsWith(`${lane} `)) continue
      connection.close()
      this.#connections.delete(key)
    }
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close()
    this.#connections.clear()
  }
}
