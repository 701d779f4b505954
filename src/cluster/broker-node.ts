import { Broker } from '../broker/broker.ts'
import { BrokerConfig } from '../broker/configs/broker-config.ts'
import type { EmulatedRelease } from '../broker/emulate/releases.ts'
import { DEFAULT_LIMITS, type Limits } from '../broker/limits.ts'
import type { PreviousBrokerEpoch } from '../broker/link.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env, LogFields } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { NodeEnv } from './node-env.ts'
import type { BrokerState, Uplink } from './place.ts'
import { LogWitness } from './witness.ts'

/**
 * One broker of a cluster: the process that runs there, if one does. It can be stopped in good order, killed, paused, and
 * started again on what the one before left on its storage. Of the cluster it knows its {@link Uplink} only.
 */

const LEAVE_TIMEOUT_MS = 30_000

export interface BrokerDefinition {
  readonly id: number
  readonly storage: Storage
  readonly platform: RecordsPlatform
  readonly rack?: string
  /** See `LogOptions.forgetProducers`. */
  readonly forgetProducers?: boolean
  /** See `BrokerRegistration.previousBrokerEpoch`; -1 by default. */
  readonly previousBrokerEpoch?: PreviousBrokerEpoch
}

/** What is the same for all brokers of a cluster. */
export interface SharedBrokerOptions {
  readonly env: Env
  readonly clusterId: string
  /** Broker configs by Kafka's names. */
  readonly configs: Readonly<Record<string, string>>
  readonly limits?: Partial<Limits>
  /** Takes members out of their groups when their connections end. */
  readonly evictDisconnected?: boolean
  /** Keeps what requests and answers say in the request logs. */
  readonly keepsFields?: boolean
  /** See `BrokerOptions.emulates`. */
  readonly emulates?: EmulatedRelease
  /** Told of mistakes of ours: see `Broker.fatal`. */
  readonly onFatal?: (error: unknown, fields: LogFields) => void
}

export class BrokerNode {
  readonly id: number
  readonly #definition: BrokerDefinition
  readonly #options: SharedBrokerOptions
  readonly #uplink: Uplink
  #storage: Storage
  #env: Env
  #broker: Broker
  #state: BrokerState = 'running'
  /** What the next process may say of the one before. */
  #previousBrokerEpoch: PreviousBrokerEpoch
  /** Who waits for the end in good order. */
  #stopping: Later<void> | undefined
  #forgetProducers: boolean

  constructor(definition: BrokerDefinition, options: SharedBrokerOptions, uplink: Uplink) {
    this.id = definition.id
    this.#definition = definition
    this.#options = options
    this.#uplink = uplink
    this.#storage = definition.storage
    this.#previousBrokerEpoch = definition.previousBrokerEpoch ?? -1
    this.#forgetProducers = definition.forgetProducers ?? false
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

  /** What a process that is started on a copy of the storage may say of the one before: one that runs leaves its logs whole there. */
  get previousBrokerEpoch(): PreviousBrokerEpoch {
    return this.isUp ? 'same' : this.#previousBrokerEpoch
  }

  /** True while a process runs, paused or not. */
  get isUp(): boolean {
    return this.#state === 'running' || this.#state === 'paused'
  }

  #newEnv(): Env {
    // One broker alone is as the process it runs in.
    return this.#uplink.link.mayFail ? new NodeEnv(this.#options.env, `broker ${this.id}`) : this.#options.env
  }

  #boot(): Broker {
    const { env, configs, limits, ...shared } = this.#options
    const { id, rack } = this.#definition
    const own = { 'node.id': String(id), 'broker.id': String(id), ...(rack && { 'broker.rack': rack }) }
    const broker = new Broker({
      ...shared,
      id,
      env: this.#env,
      storage: this.#storage,
      platform: this.#definition.platform,
      config: new BrokerConfig({ ...configs, ...own }),
      limits: { ...DEFAULT_LIMITS, ...limits },
      link: this.#uplink.link,
      forgetProducers: this.#forgetProducers,
      previousBrokerEpoch: this.#previousBrokerEpoch,
    })
    this.#uplink.attach({
      metadata: update => Later.of(env.turns, broker.metadata(update)),
      receive: (kind, request) => broker.receive(kind, request),
      witness: new LogWitness(env.turns, broker),
    })
    return broker
  }

  /**
   * Ends the process at once, as SIGKILL does: nobody is told. What it had written is there, unless the power goes, too: then each log
   * loses what was not flushed.
   */
  kill({ powerLoss = false }: { powerLoss?: boolean } = {}): void {
    if (!this.isUp) return
    this.#state = 'killed'
    this.#previousBrokerEpoch = -1
    this.#end('killed')
    this.#broker.kill()
    // Nobody is left who would say that it has stopped.
    this.#stopping?.settle()
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
    this.#stopping = stopped
    const broker = this.#broker
    const leaves = broker.config.boolean('controlled.shutdown.enable')
    const left = leaves ? broker.lifecycle.leave(LEAVE_TIMEOUT_MS) : Later.of<void>(this.#env.turns, undefined)
    left.whenSettled(() => {
      broker.shutdown().whenSettled(() => {
        // It may have been killed meanwhile.
        if (this.#state === 'running' && this.#broker === broker) {
          this.#state = 'stopped'
          this.#previousBrokerEpoch = broker.brokerEpoch
          this.#end('stopped')
        }
        stopped.settle()
      })
    })
    return stopped
  }

  #end(state: 'stopped' | 'killed'): void {
    this.#uplink.detach(state)
    if (this.#env instanceof NodeEnv) this.#env.kill()
  }

  /** Starts a process on what the one before left, or on another storage. Settles when the cluster has let it in. */
  start(
    options: { storage?: Storage; previousBrokerEpoch?: PreviousBrokerEpoch; forgetProducers?: boolean } = {},
  ): Later<void> {
    if (this.isUp) throw new RangeError(`broker ${this.id} runs already`)
    const { host, port } = this.#broker.lifecycle.address
    this.#storage = options.storage ?? this.#storage
    // What was written down is more than what is remembered, and what is remembered more than nothing.
    if (options.previousBrokerEpoch !== undefined && options.previousBrokerEpoch !== -1) {
      this.#previousBrokerEpoch = options.previousBrokerEpoch
    }
    this.#forgetProducers = options.forgetProducers ?? false
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
    this.#uplink.pause()
  }

  resume(): void {
    if (this.#state !== 'paused' || !(this.#env instanceof NodeEnv)) return
    this.#state = 'running'
    this.#env.resume()
    this.#uplink.resume()
  }
}
