import { Broker } from '../broker/broker.ts'
import { BrokerConfig } from '../broker/configs/broker-config.ts'
import { DEFAULT_LIMITS } from '../broker/limits.ts'
import type {
  ControllerMessageKind,
  ControllerMessages,
  Link,
  PeerMessageKind,
  PeerMessages,
  PreviousBrokerEpoch,
} from '../broker/link.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { BrokerDefinition, ClusterOptions } from './cluster.ts'
import type { Controller } from './controller.ts'
import { CONTROLLER, type Network } from './network.ts'
import { NodeEnv } from './node-env.ts'

/**
 * The place of one broker in a cluster: the process that runs there, if one does, and its ends of the links. A process can be stopped in
 * good order, killed, paused, and started again on what the one before left on its storage.
 */

export type BrokerState = 'running' | 'paused' | 'stopped' | 'killed'

/** How long an answer of the controller is waited for. */
const CONTROLLER_TIMEOUT_MS = 30_000
const LEAVE_TIMEOUT_MS = 30_000

type SharedOptions = ClusterOptions & Required<Pick<ClusterOptions, 'configs' | 'mayFail' | 'clusterId'>>

interface Others {
  readonly network: Network
  readonly controller: Controller
  readonly nodes: ReadonlyMap<number, BrokerNode>
}

export class BrokerNode {
  readonly id: number
  readonly #definition: BrokerDefinition
  readonly #options: SharedOptions
  readonly #others: Others
  #storage: Storage
  #env: Env
  #broker: Broker
  #state: BrokerState = 'running'
  /** What the next process may say of the one before. */
  #previousBrokerEpoch: PreviousBrokerEpoch

  constructor(definition: BrokerDefinition, options: SharedOptions, others: Others) {
    this.id = definition.id
    this.#definition = definition
    this.#options = options
    this.#others = others
    this.#storage = definition.storage
    this.#previousBrokerEpoch = definition.previousBrokerEpoch ?? -1
    this.#env = this.#newEnv()
    this.#broker = this.#boot()
  }

  /** The process, or the last that there was. */
  get broker(): Broker {
    return this.#broker
  }

  get rack(): string | undefined {
    return this.#definition.rack
  }

  get storage(): Storage {
    return this.#storage
  }

  get state(): BrokerState {
    return this.#state
  }

  /** True while a process runs, paused or not. */
  get isUp(): boolean {
    return this.#state === 'running' || this.#state === 'paused'
  }

  #newEnv(): Env {
    // One broker alone is as the process it runs in.
    return this.#options.mayFail ? new NodeEnv(this.#options.env, `broker ${this.id}`) : this.#options.env
  }

  #boot(): Broker {
    const { clusterId, configs, limits } = this.#options
    const { platform, rack, forgetProducers } = this.#definition
    const { network, controller } = this.#others
    const own = { 'node.id': String(this.id), 'broker.id': String(this.id), ...(rack && { 'broker.rack': rack }) }
    network.start(this.id)
    const broker = new Broker({
      id: this.id,
      clusterId,
      env: this.#env,
      storage: this.#storage,
      platform,
      config: new BrokerConfig({ ...configs, ...own }),
      limits: { ...DEFAULT_LIMITS, ...limits },
      link: this.#link(),
      forgetProducers,
      previousBrokerEpoch: this.#previousBrokerEpoch,
      keepsFields: this.#options.keepsFields,
      emulates: this.#options.emulates,
      evictDisconnected: this.#options.evictDisconnected,
      onFatal: this.#options.onFatal,
    })
    const { turns } = this.#options.env
    controller.subscribe(this.id, update =>
      network.call(CONTROLLER, this.id, CONTROLLER_TIMEOUT_MS, () => Later.of(turns, broker.metadata(update))),
    )
    return broker
  }

  /** The broker's end of its links. */
  #link(): Link {
    const { id } = this
    const { network, controller, nodes } = this.#others
    return {
      mayFail: this.#options.mayFail,
      send: <Kind extends ControllerMessageKind>(
        kind: Kind,
        request: ControllerMessages[Kind]['request'],
        timeoutMs = CONTROLLER_TIMEOUT_MS,
      ) => network.call(id, CONTROLLER, timeoutMs, () => controller.handle(kind, request)),
      sendToPeer: <Kind extends PeerMessageKind>(
        to: number,
        kind: Kind,
        request: PeerMessages[Kind]['request'],
        timeoutMs: number,
      ) => {
        const peer = nodes.get(to)
        if (peer === undefined) return Later.of<PeerMessages[Kind]['reply'] | undefined>(this.#env.turns, undefined)
        return network.call(id, to, timeoutMs, () => peer.broker.receive(kind, request))
      },
    }
  }

  /**
   * Ends the process at once, as SIGKILL does: nobody is told. What it had written is there, unless the power goes, too: then each log
   * loses what was not flushed.
   */
  kill({ powerLoss = false }: { powerLoss?: boolean } = {}): void {
    if (!this.isUp) return
    this.#state = 'killed'
    this.#previousBrokerEpoch = -1
    this.#end()
    this.#broker.kill()
    if (!powerLoss) return
    for (const { openedLog: log } of this.#broker.replicas.all()) {
      if (log === undefined) continue
      // Memory has nothing to flush to: what would be on a disk is what it is asked for.
      const unflushed = this.#storage.isVolatile && log.config.flushMessages !== 1
      log.truncateTo(unflushed ? log.activeSegmentOffset : log.flushedOffset)
    }
  }

  /** Lets the process end in good order: leadership moves away first, then waiting requests are answered. */
  stop(): Later<void> {
    const stopped = new Later<void>(this.#options.env.turns)
    if (!this.isUp) {
      stopped.settle()
      return stopped
    }
    this.resume()
    const broker = this.#broker
    const leaves = broker.config.boolean('controlled.shutdown.enable')
    const left = leaves ? broker.lifecycle.leave(LEAVE_TIMEOUT_MS) : Later.of<void>(this.#env.turns, undefined)
    left.whenSettled(() => {
      broker.shutdown().whenSettled(() => {
        // It may have been killed meanwhile.
        if (this.#state === 'running' && this.#broker === broker) {
          this.#state = 'stopped'
          this.#previousBrokerEpoch = broker.brokerEpoch
          this.#end()
        }
        stopped.settle()
      })
    })
    return stopped
  }

  #end(): void {
    this.#others.controller.unsubscribe(this.id)
    this.#others.network.stop(this.id)
    if (this.#env instanceof NodeEnv) this.#env.kill()
  }

  /** Starts a process on what the one before left, or on another storage. Settles when the cluster has let it in. */
  start(options: { storage?: Storage; previousBrokerEpoch?: PreviousBrokerEpoch } = {}): Later<void> {
    if (this.isUp) throw new RangeError(`broker ${this.id} runs already`)
    const { host, port } = this.#broker.lifecycle.address
    this.#storage = options.storage ?? this.#storage
    // What was written down is more than what is remembered, and what is remembered more than nothing.
    if (options.previousBrokerEpoch !== undefined && options.previousBrokerEpoch !== -1) {
      this.#previousBrokerEpoch = options.previousBrokerEpoch
    }
    this.#state = 'running'
    this.#env = this.#newEnv()
    this.#broker = this.#boot()
    return this.#broker.register(host, port)
  }

  /** Stops the process where it is, as SIGSTOP does: connections stay open, and nobody answers. */
  pause(): void {
    if (this.#state !== 'running' || !(this.#env instanceof NodeEnv)) return
    this.#state = 'paused'
    this.#env.pause()
    this.#others.network.pause(this.id)
  }

  resume(): void {
    if (this.#state !== 'paused' || !(this.#env instanceof NodeEnv)) return
    this.#state = 'running'
    this.#env.resume()
    this.#others.network.resume(this.id)
  }
}
