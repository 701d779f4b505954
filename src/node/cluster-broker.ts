/**
 * One broker of a cluster as people hold it, whether it runs or not and in whichever thread: what is done to it is noted in the timeline, and the
 * network hears of it at once.
 */
import type { RequestFilter } from '../broker/request-log.ts'
import type { Losses } from '../cluster/losses.ts'
import type { Place } from '../cluster/place.ts'
import type { Timeline } from '../cluster/timeline.ts'
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
}

export class BrokerHandle implements ClusterBroker {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly rack: string | undefined
  readonly #parts: BrokerParts

  constructor(parts: BrokerParts) {
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
    await this.#parts.node.start()
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

  async describe() {
    return this.#parts.node.methods.describe()
  }

  async requests(filter?: RequestFilter) {
    return this.#parts.node.methods.requests(filter)
  }

  #act(what: string, act: () => void): void {
    const { env, timeline } = this.#parts
    env.event(() => {
      timeline.act(`broker ${this.id} ${what}`)
      act()
    })
  }
}
