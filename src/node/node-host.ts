/**
 * One broker of a cluster with all that it has in the thread in which it runs: process, storage and listener. It keeps its port
 * when it goes and comes back. What it can be asked is in local-node.ts; how it is driven from another thread, in worker-node.ts.
 */
import type { PreviousBrokerEpoch } from '../broker/link.ts'
import { BrokerNode } from '../cluster/broker-node.ts'
import { Gate } from '../cluster/gate.ts'
import type { Uplink } from '../cluster/place.ts'
import type { MemoryStorage } from '../storage/memory-storage.ts'
import { assert } from '../util/assert.ts'
import type { CheckedClusterOptions } from './cluster-options.ts'
import type { BrokerStorage } from './cluster-storage.ts'
import { toError } from './errors.ts'
import { LocalNode } from './local-node.ts'
import type { ClusterNode } from './node-methods.ts'
import { formatAddress } from './options.ts'
import { nodeRecordsPlatform } from './records-platform.ts'
import { TcpServer } from './server.ts'
import type { SystemEnv } from './system-env.ts'

/** A shutdown that waits longer than this for parked requests goes on without them. */
const SHUTDOWN_MS = 250

export interface NodeHostOptions {
  readonly env: SystemEnv
  readonly id: number
  readonly rack: string | undefined
  readonly clusterId: string
  readonly options: Pick<
    CheckedClusterOptions,
    'host' | 'advertised' | 'configs' | 'limits' | 'trace' | 'evictDisconnected' | 'emulate'
  >
  readonly storage: BrokerStorage
  readonly uplink: Uplink
  readonly onFatal: (error: Error) => void
}

/** How a broker was at one moment. It shares its bytes with what it was made of. */
interface Snapshot {
  readonly memory: MemoryStorage
  readonly previousBrokerEpoch: PreviousBrokerEpoch
}

export class NodeHost implements ClusterNode {
  readonly methods: LocalNode
  readonly #host: NodeHostOptions
  readonly #node: BrokerNode
  readonly #gate: Gate
  readonly #snapshots = new Map<number, Snapshot>()
  #server: TcpServer | undefined
  /** Where it listens, or will again. */
  #port = 0

  /** @throws OttlaError when its storage cannot be used */
  static async open(options: NodeHostOptions): Promise<NodeHost> {
    const { storage } = options
    const found = await storage.open()
    try {
      return new NodeHost(options, found)
    } catch (error) {
      await storage.release()
      throw storage.failed(error)
    }
  }

  private constructor(host: NodeHostOptions, found: Awaited<ReturnType<BrokerStorage['open']>>) {
    const { env, id, rack, clusterId, options, uplink, onFatal } = host
    this.#host = host
    const shared = {
      env,
      clusterId,
      configs: options.configs,
      limits: options.limits,
      keepsFields: options.trace,
      evictDisconnected: options.evictDisconnected,
      emulates: options.emulate,
      onFatal: (error: unknown) => onFatal(toError(error)),
    }
    this.#node = new BrokerNode({ id, rack, platform: nodeRecordsPlatform, ...found }, shared, uplink)
    this.#gate = new Gate(this.#node)
    this.methods = new LocalNode(env, () => this.#node.broker)
  }

  async listen(port: number): Promise<number> {
    this.#port = port
    await this.#listen()
    return this.#port
  }

  async #listen(): Promise<void> {
    const { env, options } = this.#host
    const max = Number(options.configs['max.connections'] ?? Number.MAX_SAFE_INTEGER)
    this.#server ??= await TcpServer.listen({
      env,
      acceptor: this.#gate,
      host: options.host,
      port: this.#port,
      maxConnections: () => max,
      listener: own => formatAddress(options.advertised.host, own),
    })
    this.#port = this.#server.port
  }

  /** Whoever connects is refused. */
  async #stopListening(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    await server?.close()
  }

  async register(): Promise<void> {
    const { env, options } = this.#host
    await env.settled(() => this.#node.broker.register(options.advertised.host, this.#port))
  }

  async kill(powerLoss: boolean): Promise<void> {
    this.#host.env.event(() => this.#node.kill({ powerLoss }))
    await this.#stopListening()
    await this.#host.storage.release()
  }

  async stop(): Promise<void> {
    await this.resume()
    await this.#host.env.settled(() => this.#node.stop())
    if (this.#node.state !== 'stopped') return
    await this.#closeLogs()
    await this.#stopListening()
    await this.#host.storage.release()
  }

  async start(): Promise<void> {
    const { storage, env } = this.#host
    const found = await storage.open()
    this.#gate.resume()
    await this.#listen()
    await env.settled(() => this.#node.start(found))
  }

  async snapshot(id: number): Promise<void> {
    const { previousBrokerEpoch } = this.#node
    this.#snapshots.set(id, { memory: this.#memory.fork(), previousBrokerEpoch })
  }

  /** As {@link kill}; but who connects from now on waits, until {@link resume}. */
  async halt(): Promise<void> {
    this.#host.env.event(() => {
      this.#node.kill()
      this.#gate.pause()
    })
  }

  async begin(id?: number): Promise<void> {
    const snapshot = id === undefined ? undefined : this.#snapshots.get(id)
    assert(id === undefined || snapshot !== undefined, `there is no snapshot ${id} of broker ${this.#host.id}`)
    this.#memory.become(snapshot?.memory)
    const previousBrokerEpoch = snapshot?.previousBrokerEpoch ?? -1
    await this.#listen()
    await this.#host.env.settled(() =>
      this.#node.start({ previousBrokerEpoch, forgetProducers: snapshot !== undefined }),
    )
  }

  get #memory(): MemoryStorage {
    const { memory } = this.#host.storage
    assert(memory !== undefined, 'only brokers in memory are put back')
    return memory
  }

  async pause(): Promise<void> {
    this.#host.env.event(() => {
      this.#node.pause()
      this.#gate.pause()
    })
  }

  async resume(): Promise<void> {
    this.#host.env.event(() => {
      this.#node.resume()
      this.#gate.resume()
    })
  }

  /** Answers what waits, and brings everything to the disk. */
  async close(): Promise<void> {
    const { env, storage } = this.#host
    this.methods.close()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, SHUTDOWN_MS)
    })
    await Promise.race([env.settled(() => this.#node.broker.shutdown()), late])
    clearTimeout(timer)
    await this.#stopListening()
    await this.#closeLogs()
    await storage.release()
  }

  /** Brings the logs to the disk, with the mark of a good stop. One that was killed has none that it could bring. */
  async #closeLogs(): Promise<void> {
    if (this.#node.state === 'killed') return
    const { env, id } = this.#host
    const { replicas, brokerEpoch } = this.#node.broker
    const failure = await env.settled(() => replicas.directory.close(brokerEpoch))
    if (failure) {
      env.log('error', 'the logs were not closed in good order', { broker: id, error: failure.message })
    }
  }
}
