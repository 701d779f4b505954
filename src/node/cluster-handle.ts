/**
 * The handle that `startCluster` gives: brokers, links and topics by name, and each act as an event of its own. It says no once the cluster is
 * closed, and closes once.
 */
import type { RequestFilter } from '../broker/request-log.ts'
import type { Hub } from '../cluster/index.ts'
import { CONTROLLER } from '../cluster/network.ts'
import type { ClusterEvent, Timeline } from '../cluster/timeline.ts'
import { unsettled } from '../cluster/unsettled.ts'
import { advanceClock } from './advance-clock.ts'
import type { AdvanceOptions, BrokerSnapshot, FaultMethods } from './broker-methods.ts'
import type { ClusterFaults } from './cluster-faults.ts'
import { ClusterMethods } from './cluster-methods.ts'
import type { ClusterResets } from './cluster-resets.ts'
import type { ControllerStorage } from './cluster-storage.ts'
import { clusterTopic } from './cluster-topic.ts'
import { type ClusterDescription, describeCluster } from './describe-cluster.ts'
import { OttlaError } from './errors.ts'
import { Faulter } from './faults-on-demand.ts'
import type { HttpEndpoint } from './http.ts'
import type { ClusterNode } from './node-methods.ts'
import { checkTopic, formatAddress, invalid, type TopicOption } from './options.ts'
import type { ClusterBroker, ClusterLink, ClusterTopic, LinkEnd, RunningCluster } from './running-cluster.ts'
import type { SystemEnv } from './system-env.ts'
import type { Waits } from './waits.ts'

export interface ClusterParts {
  readonly env: SystemEnv
  readonly hub: Hub
  /** By the ids of the brokers. */
  readonly nodes: ReadonlyMap<number, ClusterNode>
  readonly waits: Waits
  readonly faults: ClusterFaults
  readonly resets: ClusterResets
  readonly brokers: readonly ClusterBroker[]
  readonly http: HttpEndpoint | undefined
  readonly storage: ControllerStorage
  readonly timeline: Timeline
}

const SETTLED_TIMEOUT_MS = 30_000

export class ClusterHandle extends Faulter implements RunningCluster {
  readonly clusterId: string
  readonly brokers: readonly ClusterBroker[]
  readonly http: string | undefined
  readonly #parts: ClusterParts
  readonly #methods: ClusterMethods
  #closing: Promise<void> | undefined

  constructor(parts: ClusterParts) {
    super()
    this.#parts = parts
    this.#methods = new ClusterMethods(parts)
    this.clusterId = parts.hub.clusterId
    this.brokers = parts.brokers
    this.http = parts.http?.address
  }

  get bootstrapServers(): string {
    return this.brokers.map(({ host, port }) => formatAddress(host, port)).join(',')
  }

  broker(id: number): ClusterBroker {
    const found = this.brokers.find(broker => broker.id === id)
    if (found === undefined) throw invalid(`there is no broker ${id}`, `there are 1 to ${this.brokers.length}`)
    return found
  }

  link(one: LinkEnd, other: LinkEnd): ClusterLink {
    const [from, to] = [this.#nodeId(one), this.#nodeId(other)]
    if (from === to) throw invalid(`there is no link of ${one} with itself`)
    const name = `${one}–${other}`
    const { network } = this.#parts.hub
    const both = (act: (from: number, to: number) => void, what: string) =>
      this.#act(`link ${name} ${what}`, () => {
        act(from, to)
        act(to, from)
      })
    return {
      cut: () => both((a, b) => network.cut(a, b), 'cut'),
      slow: ms => both((a, b) => network.slow(a, b, ms), `slow: ${ms} ms`),
      double: () => both((a, b) => network.double(a, b), 'delivers twice'),
      heal: () => both((a, b) => network.heal(a, b), 'healed'),
    }
  }

  #nodeId(end: LinkEnd): number {
    return end === 'controller' ? CONTROLLER : this.broker(end).id
  }

  async partition(...sides: readonly LinkEnd[][]): Promise<void> {
    const isNamed = sides.some(side => side.includes('controller'))
    const nodes = sides.map((side, index) => {
      const ids = side.map(end => this.#nodeId(end))
      return isNamed || index < sides.length - 1 ? ids : [...ids, CONTROLLER]
    })
    const { network } = this.#parts.hub
    await this.#act(`network parted: ${sides.map(side => `[${side}]`).join(' ')}`, () => {
      for (const [index, side] of nodes.entries()) {
        const others = nodes.filter((_, at) => at !== index).flat()
        for (const from of side) for (const to of others) network.cut(from, to)
      }
    })
  }

  async heal(): Promise<void> {
    const { network } = this.#parts.hub
    const all = [CONTROLLER, ...this.brokers.map(({ id }) => id)]
    await this.#act('network healed', () => {
      for (const from of all) for (const to of all) if (from !== to) network.heal(from, to)
    })
  }

  async settled({ timeoutMs = SETTLED_TIMEOUT_MS } = {}): Promise<void> {
    const { hub, waits } = this.#open()
    await waits.for<true>({
      what: 'the cluster to come to rest',
      timeoutMs,
      look: () => (unsettled(hub) === undefined ? true : undefined),
      seen: () => `still something: ${unsettled(hub)}`,
    })
  }

  async createTopic(topic: string | TopicOption): Promise<void> {
    await this.methods.createTopic(checkTopic(topic))
  }

  topic(name: string): ClusterTopic {
    return clusterTopic(name, () => this.#open().hub.image)
  }

  /** @internal */
  protected get methods(): ClusterMethods {
    this.#open()
    return this.#methods
  }

  /** @internal */
  protected get faultMethods(): FaultMethods {
    return this.#open().faults.in()
  }

  async describe(): Promise<ClusterDescription> {
    return describeCluster(this.#open().hub, this.brokers)
  }

  async reset(): Promise<void> {
    await this.#open().resets.reset()
  }

  async snapshot(): Promise<BrokerSnapshot> {
    return this.#open().resets.snapshot()
  }

  async restore(snapshot: BrokerSnapshot): Promise<void> {
    await this.#open().resets.restore(snapshot, this.#methods)
  }

  async requests(filter?: RequestFilter) {
    return this.methods.requests(filter)
  }

  async trace(filter?: RequestFilter) {
    return this.methods.trace(filter)
  }

  async events(): Promise<readonly ClusterEvent[]> {
    return [...this.#parts.timeline.events]
  }

  onEvent(listener: (event: ClusterEvent) => void): () => void {
    return this.#parts.timeline.listen(listener)
  }

  async timeline(): Promise<string> {
    return this.#parts.timeline.render()
  }

  async now(): Promise<number> {
    return this.#open().env.now()
  }

  async advance(time: number | string, options?: AdvanceOptions): Promise<void> {
    advanceClock(this.#open().env, time, options)
  }

  #open(): ClusterParts {
    if (this.#closing !== undefined) throw new OttlaError('OTTLA_BROKER_CLOSED', 'the cluster is closed')
    return this.#parts
  }

  async #act(what: string, act: () => void): Promise<void> {
    const { env, timeline } = this.#open()
    env.event(() => {
      timeline.act(what)
      act()
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { env } = this.#parts
    this.#parts.waits.close()
    this.#parts.faults.close()
    await this.#parts.resets.atRest()
    await endCluster(this.#parts)
    env.close()
    env.log('info', 'closed', { clusterId: this.clusterId })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Ends everything but the clock, in good order. */
export async function endCluster({
  env,
  hub,
  nodes,
  storage,
  http,
}: Pick<ClusterParts, 'env' | 'hub' | 'nodes' | 'storage' | 'http'>): Promise<void> {
  await http?.close()
  hub.endController()
  await Promise.all([...nodes.values()].map(node => node.close()))
  await env.settled(() => hub.metadataLog.close())
  await storage.close()
}
