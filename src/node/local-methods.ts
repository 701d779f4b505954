/**
 * What a broker in this thread does when it is asked: the one implementation of {@link BrokerMethods}; all others pass calls on
 * to it.
 */

import type { FaultRule } from '../broker/faults/fault-rule.ts'
import { viewGroup } from '../broker/group-view.ts'
import { isInternalTopic } from '../broker/internal-topics.ts'
import type { RequestFilter } from '../broker/request-log.ts'
import {
  appendToTopic,
  clearTopic,
  countRecords,
  readTopic,
  type TopicRecord,
  type TopicRecordInput,
} from '../broker/topic-access.ts'
import { renderTrace } from '../broker/trace.ts'
import { type ClusterSnapshot, MemoryCluster, type StandaloneCluster, type TopicDeclaration } from '../cluster/index.ts'
import { advanceClock } from './advance-clock.ts'
import type { AdvanceOptions, BrokerMethods, BrokerSnapshot, FaultId, GroupGoal } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { describeGoal, describeGroupView, isReached } from './group-goal.ts'
import { inEvent } from './in-event.ts'
import { LocalCalls } from './local-calls.ts'
import { lastToGo } from './local-faults.ts'
import type { SystemEnv } from './system-env.ts'

export class LocalMethods extends LocalCalls implements BrokerMethods {
  readonly #cluster: StandaloneCluster
  readonly #snapshots = new Map<number, ClusterSnapshot>()

  constructor(env: SystemEnv, cluster: StandaloneCluster) {
    super(env, () => cluster.broker)
    this.#cluster = cluster
  }

  async trace(filter?: RequestFilter) {
    return renderTrace(await this.requests(filter))
  }

  async now() {
    return this.env.now()
  }

  async advance(time: number | string, options?: AdvanceOptions) {
    advanceClock(this.env, time, options)
  }

  async reset() {
    const memory = this.#inMemory('reset')
    await this.env.settled(() => memory.reset())
  }

  async snapshot(): Promise<BrokerSnapshot> {
    const memory = this.#inMemory('snapshot')
    const id = this.#snapshots.size + 1
    this.#snapshots.set(id, memory.snapshot())
    return { clusterId: memory.clusterId, id }
  }

  async restore({ clusterId, id }: BrokerSnapshot) {
    const memory = this.#inMemory('restore')
    const snapshot = clusterId === memory.clusterId ? this.#snapshots.get(id) : undefined
    if (snapshot === undefined) throw new OttlaError('OTTLA_INVALID_OPTION', 'this is no snapshot of this broker')
    await this.env.settled(() => memory.restore(snapshot))
  }

  #inMemory(method: string): MemoryCluster {
    if (this.#cluster instanceof MemoryCluster) return this.#cluster
    const hint = 'start it without dataDir, or copy the directory while no broker uses it'
    throw new OttlaError('OTTLA_WRONG_MODE', `${method} is for brokers in memory, and this one has a data directory`, {
      hint,
    })
  }

  async addFault(rule: FaultRule) {
    return this.faults.add(rule)
  }

  async faultCount(id: FaultId) {
    return this.faults.count(id)
  }

  async metBy(id: FaultId, count: number, timeoutMs: number) {
    const met = () => this.faults.count(id)
    await this.waits.for<true>({
      what: `${count} requests that meet the fault`,
      timeoutMs,
      look: () => met() >= count || undefined,
      seen: () => `${met()}`,
    })
  }

  async heldBy(id: FaultId) {
    return this.faults.held(id).length
  }

  async arrivedAt(id: FaultId, count: number, timeoutMs: number) {
    const held = () => this.faults.held(id).length
    await this.waits.for<true>({
      what: `${count} requests at the gate`,
      timeoutMs,
      look: () => held() >= count || undefined,
      seen: () => `${held()}`,
    })
  }

  async releaseFrom(id: FaultId, count?: number) {
    return this.faults.release(id, lastToGo(this.faults.held(id), count))
  }

  async createTopic(topic: TopicDeclaration) {
    const refused = await this.env.settled(() => this.#cluster.cluster.createTopics([topic]))
    if (refused !== undefined) throw new OttlaError('OTTLA_INVALID_OPTION', refused.message, { cause: refused })
  }

  async recordsOf(topic: string, { count = 0, timeoutMs }: { count?: number; timeoutMs: number }) {
    return this.waits.for({
      what: `${count} records in topic ${topic}`,
      timeoutMs,
      look: () => this.#recordsIf(topic, count),
      seen: () => this.#seenIn(topic),
    })
  }

  /** Counting by offsets first: reading is dear, and one look is taken after each event. */
  #recordsIf(topic: string, count: number): TopicRecord[] | undefined {
    const { broker } = this
    if (countRecords(broker, topic) < count) return undefined
    if (!broker.image.topicsByName.has(topic)) return []
    const records = readTopic(broker, topic)
    return records.length >= count ? records : undefined
  }

  #seenIn(topic: string): string {
    const { broker } = this
    if (!broker.image.topicsByName.has(topic)) {
      const others = [...broker.image.topicsByName.keys()].filter(name => !isInternalTopic(name))
      return `no such topic, but ${others.join(', ') || 'none'}`
    }
    return `${readTopic(broker, topic).length}`
  }

  async produceTo(topic: string, records: readonly TopicRecordInput[]) {
    if (!this.broker.image.topicsByName.has(topic)) await this.createTopic({ name: topic })
    return inEvent(this.env, () => appendToTopic(this.broker, topic, records))
  }

  async clearTopic(topic: string) {
    inEvent(this.env, () => clearTopic(this.broker, topic))
  }

  async viewGroup(groupId: string) {
    return viewGroup(this.broker, groupId)
  }

  async awaitGroup(groupId: string, goal: GroupGoal, timeoutMs: number) {
    const view = () => viewGroup(this.broker, groupId)
    return this.waits.for({
      what: describeGoal(groupId, goal),
      timeoutMs,
      look: () => {
        const group = view()
        return isReached(group, goal) ? group : undefined
      },
      seen: () => describeGroupView(view()),
    })
  }
}
