/**
 * What a cluster can be asked and told about its topics and groups, as one broker can (local-methods.ts): each partition at the broker that leads
 * it, each group at its coordinator, by what the controller has decided. While nobody leads, or who should is dead or stands still, it waits.
 */
import type { Broker } from '../broker/broker.ts'
import { evictMembers } from '../broker/evict.ts'
import { type GroupView, viewGroup } from '../broker/group-view.ts'
import { CONSUMER_OFFSETS } from '../broker/internal-topics.ts'
import type { RequestFilter, RequestLogRecord } from '../broker/request-log.ts'
import {
  appendToTopic,
  clearTopic,
  countRecords,
  type Leaders,
  ledPartitions,
  readTopic,
  type TopicRecordInput,
} from '../broker/topic-access.ts'
import { renderTrace } from '../broker/trace.ts'
import type { Cluster, TopicDeclaration } from '../cluster/index.ts'
import { KafkaError } from '../protocol/errors.ts'
import type { GroupGoal, TopicMethods } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { WAIT_TIMEOUT_MS } from './fault-handles.ts'
import { describeGoal, describeGroupView, isReached } from './group-goal.ts'
import { inEvent } from './in-event.ts'
import type { SystemEnv } from './system-env.ts'
import type { Wait, Waits } from './waits.ts'

/** A request, and which broker answered it. */
export type ClusterRequestLogRecord = RequestLogRecord & { readonly broker: number }

/** What passes, once there is a leader and it knows that it leads. */
const PASSING = ['LEADER_NOT_AVAILABLE', 'NOT_LEADER_OR_FOLLOWER', 'UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_NOT_AVAILABLE']

export class ClusterMethods implements TopicMethods {
  readonly #env: SystemEnv
  readonly #cluster: Cluster
  readonly #waits: Waits

  constructor(env: SystemEnv, cluster: Cluster, waits: Waits) {
    this.#env = env
    this.#cluster = cluster
    this.#waits = waits
  }

  async requests(filter: RequestFilter = {}): Promise<ClusterRequestLogRecord[]> {
    const all = this.#cluster.brokers.flatMap(({ id, requestLog }) =>
      requestLog.records(filter).map(record => ({ ...record, broker: id })),
    )
    all.sort((a, b) => a.at - b.at)
    return filter.last === undefined ? all : all.slice(Math.max(0, all.length - filter.last))
  }

  async trace(filter?: RequestFilter) {
    return renderTrace(await this.requests(filter))
  }

  async createTopic(topic: TopicDeclaration) {
    const refused = await this.#env.settled(() => this.#cluster.createTopics([topic]))
    if (refused !== undefined) throw new OttlaError('OTTLA_INVALID_OPTION', refused.message, { cause: refused })
  }

  get #leaders(): Leaders {
    return { image: this.#cluster.image, leaderOf: (topicId, partition) => this.#leaderOf(topicId, partition) }
  }

  #leaderOf(topicId: string, partitionId: number): Broker {
    const topic = this.#cluster.image.topicsById.get(topicId)
    const image = topic?.partitions[partitionId]
    if (topic === undefined || image === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    const name = `${topic.name}-${partitionId}`
    if (image.leader < 0) throw new KafkaError('LEADER_NOT_AVAILABLE', `nobody leads ${name}`)
    const { broker, state, id } = this.#cluster.node(image.leader)
    if (state !== 'running')
      throw new KafkaError('LEADER_NOT_AVAILABLE', `broker ${id}, which leads ${name}, is ${state}`)
    if (!broker.replicas.find(topicId, partitionId)?.isLeader) {
      throw new KafkaError('NOT_LEADER_OR_FOLLOWER', `broker ${id} has not heard that it leads ${name}`)
    }
    return broker
  }

  async recordsOf(topic: string, { count = 0, timeoutMs }: { count?: number; timeoutMs: number }) {
    return this.#when({
      what: `${count} records in topic ${topic}`,
      timeoutMs,
      look: () => {
        const leaders = this.#leaders
        if (countRecords(leaders, topic) < count) return undefined
        if (!leaders.image.topicsByName.has(topic)) return []
        if (count === 0) checkHighWatermarks(leaders, topic)
        const records = readTopic(leaders, topic)
        return records.length >= count ? records : undefined
      },
      seen: () =>
        this.#cluster.image.topicsByName.has(topic) ? `${readTopic(this.#leaders, topic).length}` : 'no such topic',
    })
  }

  /** Resolves once all in-sync replicas have them, as with `acks=all`. */
  async produceTo(topic: string, records: readonly TopicRecordInput[]) {
    if (!this.#cluster.image.topicsByName.has(topic)) await this.createTopic({ name: topic })
    await this.#led(topic)
    const led = ledPartitions(this.#leaders, topic).map(each => ({ ...each, epoch: each.partition.leaderEpoch }))
    const placed = inEvent(this.#env, () => appendToTopic(this.#leaders, topic, records))
    await this.#waits.for<true>({
      what: `${records.length} records to be in all in-sync replicas of ${topic}`,
      timeoutMs: WAIT_TIMEOUT_MS,
      look: () => {
        const behind = placed.filter(({ partition, offset }) => led[partition].partition.highWatermark <= offset)
        const moved = behind.find(({ partition: index }) => {
          const { broker, partition, epoch } = led[index]
          const image = this.#cluster.image.partition(topic, index)
          return image?.leader !== broker.id || image.leaderEpoch !== epoch || !partition.isLeader
        })
        if (moved === undefined) return behind.length === 0 || undefined
        const text = `the leader of ${topic}-${moved.partition} changed before all in-sync replicas had the records`
        throw new OttlaError('OTTLA_TIMEOUT', text, { hint: 'they may be there or not; await cluster.settled() first' })
      },
      seen: () =>
        placed
          .map(({ partition }) => `${led[partition].partition.highWatermark} as high watermark of ${partition}`)
          .join(', '),
    })
    return placed
  }

  async clearTopic(topic: string) {
    await this.#led(topic)
    inEvent(this.#env, () => clearTopic(this.#leaders, topic))
  }

  /** Resolves once every partition has a leader that knows it. A topic that is not there is no matter of waiting. */
  #led(topic: string): Promise<true> {
    return this.#when<true>({
      what: `leaders of topic ${topic}`,
      timeoutMs: WAIT_TIMEOUT_MS,
      look: () => {
        if (this.#cluster.image.topicsByName.has(topic)) ledPartitions(this.#leaders, topic)
        return true
      },
      seen: () => 'each of them',
    })
  }

  /** @throws KafkaError while nobody coordinates the group */
  #viewGroup(groupId: string): GroupView {
    const { image, brokers } = this.#cluster
    const offsets = image.topicsByName.get(CONSUMER_OFFSETS)
    // Nobody has asked for a coordinator yet: so every broker has it as a group that is not there.
    if (offsets === undefined) return viewGroup(brokers[0], groupId)
    const partition = brokers[0].groups.partitionFor(groupId)
    const coordinator = this.#leaderOf(offsets.topicId, partition)
    if (coordinator.groups.machine(partition) === undefined) {
      throw new KafkaError(
        'LEADER_NOT_AVAILABLE',
        `broker ${coordinator.id} has not loaded ${CONSUMER_OFFSETS}-${partition}`,
      )
    }
    return viewGroup(coordinator, groupId, this.#leaders.leaderOf)
  }

  async viewGroup(groupId: string) {
    return this.#when({
      what: `group ${groupId} to have a coordinator`,
      timeoutMs: WAIT_TIMEOUT_MS,
      look: () => this.#viewGroup(groupId),
      seen: () => 'one',
    })
  }

  async awaitGroup(groupId: string, goal: GroupGoal, timeoutMs: number) {
    return this.#when({
      what: describeGoal(groupId, goal),
      timeoutMs,
      look: () => {
        const group = this.#viewGroup(groupId)
        return isReached(group, goal) ? group : undefined
      },
      seen: () => describeGroupView(this.#viewGroup(groupId)),
    })
  }

  async evictMembers(groupId?: string) {
    const reason = 'a test took it out'
    const running = this.#cluster.brokers.filter(({ id }) => this.#cluster.node(id).state === 'running')
    return inEvent(this.#env, () => running.reduce((sum, broker) => sum + evictMembers(broker, { groupId, reason }), 0))
  }

  /** Waits as long as nobody leads what is looked at, too. */
  #when<T>({ look, seen, ...wait }: Wait<T>): Promise<T> {
    return this.#waits.for<T>({
      ...wait,
      look: () => unlessPassing(look, () => undefined),
      seen: () => unlessPassing(seen, ({ message }) => `this in the way: ${message}`),
    })
  }
}

/** A leader that is new may not have heard yet how much counts: what it shows then is not all that was acknowledged. */
function checkHighWatermarks(leaders: Leaders, topic: string): void {
  const lagging = ledPartitions(leaders, topic).find(({ partition }) => partition.highWatermarkLags)
  if (lagging === undefined) return
  const name = `${topic}-${lagging.partition.index}`
  throw new KafkaError('OFFSET_NOT_AVAILABLE', `the high watermark of ${name} lags behind what its new leader found`)
}

function unlessPassing<T, U>(act: () => T, passing: (error: KafkaError) => U): T | U {
  try {
    return act()
  } catch (error) {
    if (error instanceof KafkaError && PASSING.includes(error.error)) return passing(error)
    throw error
  }
}
