/**
 * The listeners of a cluster, one for each broker, which keep their ports when a broker goes and comes back.
 */
import type { Gate } from '../cluster/gate.ts'
import type { CheckedClusterOptions } from './cluster-options.ts'
import { formatAddress } from './options.ts'
import { TcpServer } from './server.ts'
import type { SystemEnv } from './system-env.ts'

interface Place {
  readonly port: number
  readonly gate: Gate
  server: TcpServer | undefined
}

export class ClusterTcp {
  /** How clients are told to reach the brokers, whatever they listen on. */
  readonly host: string
  readonly #env: SystemEnv
  readonly #options: CheckedClusterOptions
  readonly #places = new Map<number, Place>()

  constructor(env: SystemEnv, options: CheckedClusterOptions) {
    this.#env = env
    this.#options = options
    this.host = options.advertised.host
  }

  /** Resolves once connections to a broker are accepted. */
  async listen(brokerId: number, port: number, gate: Gate): Promise<void> {
    const server = await this.#listen(port, gate)
    this.#places.set(brokerId, { port: server.port, gate, server })
  }

  #listen(port: number, gate: Gate): Promise<TcpServer> {
    const max = Number(this.#options.configs['max.connections'] ?? Number.MAX_SAFE_INTEGER)
    return TcpServer.listen({
      env: this.#env,
      acceptor: gate,
      host: this.#options.host,
      port,
      maxConnections: () => max,
      listener: own => formatAddress(this.host, own),
    })
  }

  #place(brokerId: number): Place {
    const place = this.#places.get(brokerId)
    if (place === undefined) throw new RangeError(`broker ${brokerId} does not listen`)
    return place
  }

  port(brokerId: number): number {
    return this.#place(brokerId).port
  }

  /** The broker is gone: whoever connects is refused. */
  async close(brokerId: number): Promise<void> {
    const place = this.#places.get(brokerId)
    const server = place?.server
    if (place === undefined || server === undefined) return
    place.server = undefined
    await server.close()
  }

  /** The broker is there again, on the same port. */
  async reopen(brokerId: number): Promise<void> {
    const place = this.#place(brokerId)
    place.server ??= await this.#listen(place.port, place.gate)
  }

  gate(brokerId: number): Gate {
    return this.#place(brokerId).gate
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#places.keys()].map(id => this.close(id)))
  }
}
