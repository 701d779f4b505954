/**
 * The handle that `startCluster` gives: brokers, links and topics by name, and each act as an event of its own. It says no once the cluster is
 * closed, and closes once.
 */
import { describeBroker } from '../broker/describe.ts'
import type { RequestFilter } from '../broker/request-log.ts'
import type { BrokerNode } from '../cluster/broker-node.ts'
import type { Cluster } from '../cluster/index.ts'
import type { Losses } from '../cluster/losses.ts'
import { CONTROLLER } from '../cluster/network.ts'
import type { ClusterEvent, Timeline } from '../cluster/timeline.ts'
import { unsettled } from '../cluster/unsettled.ts'
import { parseDuration } from '../util/duration.ts'
import { Later } from '../util/later.ts'
import { ClusterMethods } from './cluster-methods.ts'
import type { ClusterStorage } from './cluster-storage.ts'
import type { ClusterTcp } from './cluster-tcp.ts'
import { clusterTopic } from './cluster-topic.ts'
import { OttlaError } from './errors.ts'
import { LocalNode } from './local-node.ts'
import { checkOptions, formatAddress, invalid, type TopicOption } from './options.ts'
import type { ClusterBroker, ClusterLink, ClusterTopic, LinkEnd, RunningCluster } from './running-cluster.ts'
import type { SystemEnv } from './system-env.ts'
import { Waits } from './waits.ts'

export interface ClusterParts {
  readonly env: SystemEnv
  readonly cluster: Cluster
  readonly storage: ClusterStorage
  readonly tcp: ClusterTcp
  readonly timeline: Timeline
  readonly losses: Losses
}

const SETTLED_TIMEOUT_MS = 30_000
/** A shutdown that waits longer than this for parked requests goes on without them. */
const SHUTDOWN_MS = 250

export class ClusterHandle implements RunningCluster {
  readonly clusterId: string
  readonly brokers: readonly ClusterBroker[]
  readonly #parts: ClusterParts
  readonly #waits: Waits
  readonly #nodes: ReadonlyMap<number, LocalNode>
  readonly #methods: ClusterMethods
  #closing: Promise<void> | undefined

  constructor(parts: ClusterParts) {
    this.#parts = parts
    this.#waits = new Waits(parts.env)
    const { env, cluster } = parts
    this.#nodes = new Map(cluster.brokers.map(({ id }) => [id, new LocalNode(env, () => cluster.broker(id))]))
    this.#methods = new ClusterMethods({ env, cluster, nodes: this.#nodes, waits: this.#waits })
    this.clusterId = parts.cluster.clusterId
    this.brokers = parts.cluster.brokers.map(({ id }) => new BrokerPlace(parts, id))
  }

  get bootstrapServers(): string {
    return this.brokers.map(({ host, port }) => formatAddress(host, port)).join(',')
  }

  /** Tells the controller of all brokers at once. */
  registerAll(): Later<void> {
    const { cluster, env } = this.#parts
    const all = new Later<void>(env.turns)
    let left = this.brokers.length
    for (const { id, host, port } of this.brokers) {
      cluster
        .broker(id)
        .register(host, port)
        .whenSettled(() => {
          if (--left === 0) all.settle()
        })
    }
    return all
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
    const { network } = this.#parts.cluster
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
    const { network } = this.#parts.cluster
    await this.#act(`network parted: ${sides.map(side => `[${side}]`).join(' ')}`, () => {
      for (const [index, side] of nodes.entries()) {
        const others = nodes.filter((_, at) => at !== index).flat()
        for (const from of side) for (const to of others) network.cut(from, to)
      }
    })
  }

  async heal(): Promise<void> {
    const { network } = this.#parts.cluster
    const all = [CONTROLLER, ...this.brokers.map(({ id }) => id)]
    await this.#act('network healed', () => {
      for (const from of all) for (const to of all) if (from !== to) network.heal(from, to)
    })
  }

  async settled({ timeoutMs = SETTLED_TIMEOUT_MS } = {}): Promise<void> {
    const { cluster } = this.#open()
    await this.#waits.for<true>({
      what: 'the cluster to come to rest',
      timeoutMs,
      look: () => (unsettled(cluster) === undefined ? true : undefined),
      seen: () => `still something: ${unsettled(cluster)}`,
    })
  }

  async createTopic(topic: string | TopicOption): Promise<void> {
    const { topics } = checkOptions({ topics: [topic] })
    for (const each of topics) await this.methods.createTopic(each)
  }

  topic(name: string): ClusterTopic {
    return clusterTopic(name, () => this.#open().cluster.image)
  }

  /** @internal */
  protected get methods(): ClusterMethods {
    this.#open()
    return this.#methods
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

  async advance(time: number | string, { sessions }: { sessions?: boolean } = {}): Promise<void> {
    const { env } = this.#open()
    const ms = parseDuration(time)
    if (ms === undefined) throw invalid(`not a span of time: ${time}`, "write it in milliseconds, or as '7d', '1h30m'")
    if (!env.aheadOfClients) {
      const hint = "start it with startCluster({ time: 'virtual' })"
      throw new OttlaError('OTTLA_WRONG_MODE', 'the clock is the real one, which cannot be moved', { hint })
    }
    env.advance(ms, { clients: sessions })
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
    const { env, cluster, storage, tcp } = this.#parts
    this.#waits.close()
    for (const node of this.#nodes.values()) node.close()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, SHUTDOWN_MS)
    })
    await Promise.race([env.settled(() => cluster.shutdown()), late])
    clearTimeout(timer)
    await tcp.closeAll()
    for (const { id } of this.brokers) await closeLogs(env, cluster.node(id))
    await env.settled(() => cluster.metadataLog.close())
    await storage.close()
    env.close()
    env.log('info', 'closed', { clusterId: this.clusterId })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Brings a broker's logs to the disk, with the mark of a good stop. One that was killed has none that it could bring. */
async function closeLogs(env: SystemEnv, node: BrokerNode): Promise<void> {
  if (node.state === 'killed') return
  const { replicas, brokerEpoch } = node.broker
  const failure = await env.settled(() => replicas.directory.close(brokerEpoch))
  if (failure) env.log('error', 'the logs were not closed in good order', { broker: node.id, error: failure.message })
}

/** One broker of the cluster, whether it runs or not. */
class BrokerPlace implements ClusterBroker {
  readonly id: number
  readonly #parts: ClusterParts

  constructor(parts: ClusterParts, id: number) {
    this.#parts = parts
    this.id = id
  }

  get #node(): BrokerNode {
    return this.#parts.cluster.node(this.id)
  }

  get host(): string {
    return this.#parts.tcp.host
  }

  get port(): number {
    return this.#parts.tcp.port(this.id)
  }

  get rack(): string | undefined {
    return this.#node.rack
  }

  get state() {
    return this.#node.state
  }

  async kill({ powerLoss = false }: { powerLoss?: boolean } = {}): Promise<void> {
    const { storage, tcp } = this.#parts
    if (!this.#node.isUp) return
    this.#act(powerLoss ? 'killed, and its power lost' : 'killed', () => {
      this.#parts.losses.ending(this.id)
      this.#node.kill({ powerLoss })
    })
    await tcp.close(this.id)
    await storage.release(this.id)
  }

  async stop(): Promise<void> {
    const { env, storage, tcp } = this.#parts
    if (!this.#node.isUp) return
    this.#act('stopping', () => {})
    this.#letThrough()
    await env.settled(() => this.#node.stop())
    if (this.#node.state !== 'stopped') return
    await closeLogs(env, this.#node)
    await tcp.close(this.id)
    await storage.release(this.id)
  }

  async restart(): Promise<void> {
    const { env, storage, tcp } = this.#parts
    await this.stop()
    const { storage: found, previousBrokerEpoch } = await storage.open(this.id)
    await tcp.reopen(this.id)
    this.#act('started', () => {})
    await env.settled(() => this.#node.start({ storage: found, previousBrokerEpoch }))
  }

  async pause(): Promise<void> {
    this.#act('paused', () => {
      this.#node.pause()
      this.#parts.tcp.gate(this.id).pause()
    })
  }

  async resume(): Promise<void> {
    if (this.#node.state === 'paused') this.#act('resumed', () => this.#letThrough())
  }

  #letThrough(): void {
    if (this.#node.state !== 'paused') return
    this.#node.resume()
    this.#parts.tcp.gate(this.id).resume()
  }

  async describe() {
    return describeBroker(this.#node.broker)
  }

  async requests(filter?: RequestFilter) {
    return this.#node.broker.requestLog.records(filter)
  }

  #act(what: string, act: () => void): void {
    const { env, timeline } = this.#parts
    env.event(() => {
      timeline.act(`broker ${this.id} ${what}`)
      act()
    })
  }
}
