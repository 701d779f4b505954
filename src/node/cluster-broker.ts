/**
 * One broker of a cluster as people hold it, whether it runs or not and in whichever thread: what is done to it is noted in the timeline, and the
 * network hears of it at once.
 */
import type { RequestFilter } from '../broker/request-log.ts'
import { renderTrace } from '../broker/trace.ts'
import type { Losses } from '../cluster/losses.ts'
import type { Place } from '../cluster/place.ts'
import type { Timeline } from '../cluster/timeline.ts'
import type { FaultMethods } from './broker-methods.ts'
import type { ClusterFaults } from './cluster-faults.ts'
import { RequestFaulter } from './faults-on-demand.ts'
import type { ClusterNode } from './node-methods.ts'
import type { ClusterBroker } from './running-cluster.ts'
import type { SystemEnv } from './system-env.ts'

export interface BrokerParts {
  readonly env: SystemEnv
  readonly place: Place
  readonly node: ClusterNode
  readonly host: string
  readonly port: number
  readonly rack: string | undefined
  readonly timeline: Timeline
  readonly losses: Losses
  readonly faults: ClusterFaults
}

export class ClusterBrokerHandle extends RequestFaulter implements ClusterBroker {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly rack: string | undefined
  readonly #parts: BrokerParts

  constructor(parts: BrokerParts) {
    super()
    this.#parts = parts
    this.id = parts.place.id
    this.host = parts.host
    this.port = parts.port
    this.rack = parts.rack
  }

  get state() {
    return this.#parts.place.state
  }

  async kill({ powerLoss = false }: { powerLoss?: boolean } = {}): Promise<void> {
    const { losses, node, place } = this.#parts
    if (!place.isUp) return
    this.#act(powerLoss ? 'killed, and its power lost' : 'killed', () => {
      losses.ending(this.id)
      place.detach('killed')
    })
    await node.kill(powerLoss)
  }

  async stop(): Promise<void> {
    const { node, place } = this.#parts
    if (!place.isUp) return
    this.#act('stopping', () => place.resume())
    await node.stop()
  }

  async restart(): Promise<void> {
    await this.stop()
    this.#act('started', () => {})
    await this.#start()
  }

  /** It has its faults again before anybody can ask it. */
  async #start(): Promise<void> {
    const { env, faults, node, place } = this.#parts
    let faulty: Promise<void> | undefined
    const end = env.afterEvents(() => {
      if (place.isUp) faulty ??= faults.started(this.id)
    })
    try {
      await node.start()
    } finally {
      end()
    }
    await (faulty ?? faults.started(this.id))
  }

  async pause(): Promise<void> {
    this.#act('paused', () => this.#parts.place.pause())
    await this.#parts.node.pause()
  }

  async resume(): Promise<void> {
    if (this.state !== 'paused') return
    this.#act('resumed', () => this.#parts.place.resume())
    await this.#parts.node.resume()
  }

  /** @internal */
  protected get faultMethods(): FaultMethods {
    return this.#parts.faults.in(this.id)
  }

  async describe() {
    return this.#parts.node.methods.describe()
  }

  async requests(filter?: RequestFilter) {
    return this.#parts.node.methods.requests(filter)
  }

  async trace(filter?: RequestFilter) {
    return renderTrace(await this.requests(filter))
  }

  #act(what: string, act: () => void): void {
    const { env, timeline } = this.#parts
    env.event(() => {
      timeline.act(`broker ${this.id} ${what}`)
      act()
    })
  }
}
