/**
 * What a cluster can be asked and told about its topics and groups, as one broker can (local-methods.ts): each partition at the broker that leads
 * it, each group at its coordinator, by what the controller has decided. While nobody leads, or who should is dead or stands still, it waits.
 * Brokers are asked by {@link NodeMethods} only, as they may run in other threads.
 */
import { deadGroup, type GroupView, withLag } from '../broker/group-view.ts'
import { CONSUMER_OFFSETS } from '../broker/internal-topics.ts'
import type { TopicImage } from '../broker/metadata/image.ts'
import type { RequestFilter, RequestLogRecord } from '../broker/request-log.ts'
import { mergeByTime, placesOf, type TopicRecord, type TopicRecordInput } from '../broker/topic-access.ts'
import { renderTrace } from '../broker/trace.ts'
import type { Hub, TopicDeclaration } from '../cluster/index.ts'
import { coordinatorPartition } from '../core/java-hash.ts'
import { KafkaError } from '../protocol/errors.ts'
import type { GroupGoal, TopicMethods } from './broker-methods.ts'
import { makeTopics } from './cluster-topic.ts'
import { isOfEndedThread } from './errors.ts'
import { WAIT_TIMEOUT_MS } from './fault-handles.ts'
import { describeGoal, describeGroupView, isReached } from './group-goal.ts'
import { leaderMoved } from './local-node.ts'
import type { ClusterNode, LedOffsets, NodeMethods } from './node-methods.ts'
import { invalid } from './options.ts'
import type { SystemEnv } from './system-env.ts'
import type { Wait, Waits } from './waits.ts'

/** A request, and which broker answered it. */
export type ClusterRequestLogRecord = RequestLogRecord & { readonly broker: number }

/** What passes, once there is a leader and it knows that it leads. */
const PASSING = ['LEADER_NOT_AVAILABLE', 'NOT_LEADER_OR_FOLLOWER', 'UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_NOT_AVAILABLE']

interface ClusterMethodsOptions {
  readonly env: SystemEnv
  readonly hub: Hub
  /** By the ids of the brokers. */
  readonly nodes: ReadonlyMap<number, ClusterNode>
  readonly waits: Waits
}

/** A partition, and the broker that leads it as the controller has it. */
interface Led {
  readonly node: NodeMethods
  readonly leader: number
  readonly leaderEpoch: number
}

export class ClusterMethods implements TopicMethods {
  readonly #env: SystemEnv
  readonly #hub: Hub
  readonly #nodes: ReadonlyMap<number, ClusterNode>
  readonly #waits: Waits

  constructor({ env, hub, nodes, waits }: ClusterMethodsOptions) {
    this.#env = env
    this.#hub = hub
    this.#nodes = nodes
    this.#waits = waits
  }

  async requests(filter: RequestFilter = {}): Promise<ClusterRequestLogRecord[]> {
    const lists = await Promise.all(
      [...this.#nodes].map(async ([broker, node]) => {
        return (await node.methods.requests(filter)).map(record => ({ ...record, broker }))
      }),
    )
    const all = lists.flat().sort((a, b) => a.at - b.at)
    return filter.last === undefined ? all : all.slice(Math.max(0, all.length - filter.last))
  }

  async trace(filter?: RequestFilter) {
    return renderTrace(await this.requests(filter))
  }

  async createTopic(topic: TopicDeclaration) {
    await makeTopics({ env: this.#env, hub: this.#hub }, [topic])
  }

  #topic(name: string): TopicImage | undefined {
    return this.#hub.image.topicsByName.get(name)
  }

  /** @throws KafkaError when nobody leads that could be asked */
  #led(topicId: string, partition: number): Led {
    const topic = this.#hub.image.topicsById.get(topicId)
    const image = topic?.partitions[partition]
    if (topic === undefined || image === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    const { leader, leaderEpoch } = image
    const name = `${topic.name}-${partition}`
    if (leader < 0) throw new KafkaError('LEADER_NOT_AVAILABLE', `nobody leads ${name}`)
    const { state } = this.#hub.place(leader)
    if (state !== 'running') {
      throw new KafkaError('LEADER_NOT_AVAILABLE', `broker ${leader}, which leads ${name}, is ${state}`)
    }
    return { node: (this.#nodes.get(leader) as ClusterNode).methods, leader, leaderEpoch }
  }

  /** Asks every leader once for all that it leads of a topic; the answers are in the order of the partitions. */
  async #askLeaders<T>(
    { topicId, partitions }: TopicImage,
    ask: (node: NodeMethods, partitions: number[]) => Promise<T[]>,
  ): Promise<T[]> {
    const byLeader = new Map<NodeMethods, number[]>()
    for (const { partitionId } of partitions) {
      const { node } = this.#led(topicId, partitionId)
      byLeader.set(node, [...(byLeader.get(node) ?? []), partitionId])
    }
    const answers: T[] = []
    await Promise.all(
      [...byLeader].map(async ([node, indexes]) => {
        for (const [at, answer] of (await ask(node, indexes)).entries()) answers[indexes[at]] = answer
      }),
    )
    return answers
  }

  #offsets(topic: TopicImage): Promise<LedOffsets[]> {
    return this.#askLeaders(topic, (node, indexes) => node.offsetsOf(topic.topicId, indexes))
  }

  async #records(topic: TopicImage): Promise<TopicRecord[]> {
    return mergeByTime(await this.#askLeaders(topic, (node, indexes) => node.readRecords(topic.topicId, indexes)))
  }

  async recordsOf(name: string, { count = 0, timeoutMs }: { count?: number; timeoutMs: number }) {
    return this.#when({
      what: `${count} records in topic ${name}`,
      timeoutMs,
      look: async () => {
        const topic = this.#topic(name)
        if (topic === undefined) return count === 0 ? [] : undefined
        const offsets = await this.#offsets(topic)
        if (offsets.reduce((sum, each) => sum + each.highWatermark - each.logStartOffset, 0) < count) return undefined
        if (count === 0) checkHighWatermarks(name, offsets)
        const records = await this.#records(topic)
        return records.length >= count ? records : undefined
      },
      seen: async () => {
        const topic = this.#topic(name)
        return topic === undefined ? 'no such topic' : `${(await this.#records(topic)).length}`
      },
    })
  }

  /** Resolves once all in-sync replicas have them, as with `acks=all`. */
  async produceTo(name: string, records: readonly TopicRecordInput[]) {
    if (this.#topic(name) === undefined) await this.createTopic({ name })
    await this.#whenLed(name)
    const { topicId, partitions } = this.#topic(name) as TopicImage
    const places = placesOf(records, partitions.length)
    const placed: { partition: number; offset: number }[] = []
    const missing = places.find(partition => partitions[partition] === undefined)
    if (missing !== undefined) throw invalid(`there is no partition ${name}-${missing}`)
    const append = async (partition: number) => {
      const own = records.flatMap((record, at) => (places[at] === partition ? [{ record, at }] : []))
      const baseOffset = await this.#append(
        topicId,
        partition,
        own.map(({ record }) => record),
      )
      for (const [order, { at }] of own.entries()) placed[at] = { partition, offset: baseOffset + order }
    }
    await Promise.all([...new Set(places)].map(append))
    return placed
  }

  /** Whoever is refused because somebody else leads by now goes there: nothing was appended then. */
  async #append(topicId: string, partition: number, records: readonly TopicRecordInput[]): Promise<number> {
    for (;;) {
      const led = await this.#when({
        what: `a leader of partition ${partition}`,
        timeoutMs: WAIT_TIMEOUT_MS,
        look: async () => {
          const found = this.#led(topicId, partition)
          await found.node.offsetsOf(topicId, [partition])
          return found
        },
        seen: () => 'one',
      })
      const appended = await unlessPassing(
        () => {
          const answer = led.node.appendRecords(topicId, partition, records, WAIT_TIMEOUT_MS)
          return this.#unlessMoved(topicId, partition, led, answer)
        },
        () => undefined,
      )
      if (appended !== undefined) return appended
    }
  }

  #nameOf(topicId: string): string {
    return this.#hub.image.topicsById.get(topicId)?.name ?? topicId
  }

  /** A leader that was cut off, or is dead, would never say so. */
  async #unlessMoved<T>(topicId: string, partition: number, led: Led, answer: Promise<T>): Promise<T> {
    let settled = false
    const done = () => {
      settled = true
      this.#waits.look()
    }
    // What its thread took along when it ended, nobody knows.
    const known = answer.catch(error => {
      throw isOfEndedThread(error) ? leaderMoved(this.#nameOf(topicId), partition) : error
    })
    known.then(done, done)
    await this.#waits.for<true>({
      what: 'an answer of the leader',
      // The leader itself gives up before.
      timeoutMs: 2 * WAIT_TIMEOUT_MS,
      look: () => {
        if (settled) return true
        const now = this.#hub.image.topicsById.get(topicId)?.partitions[partition]
        if (now?.leader === led.leader && now.leaderEpoch === led.leaderEpoch) return undefined
        throw leaderMoved(this.#nameOf(topicId), partition)
      },
      seen: () => 'none',
    })
    return known
  }

  async clearTopic(name: string) {
    for (let isDone = false; !isDone; ) {
      await this.#whenLed(name)
      const topic = this.#topic(name)
      if (topic === undefined) throw invalid(`there is no topic ${name}`)
      isDone = await unlessPassing(
        () => this.#clear(topic),
        () => false,
      )
    }
  }

  async #clear(topic: TopicImage): Promise<true> {
    await this.#askLeaders(topic, async (node, indexes) => {
      await node.clearRecords(topic.topicId, indexes)
      return indexes
    })
    return true
  }

  /** Resolves once every partition has a leader that knows it. A topic that is not there is no matter of waiting. */
  async #whenLed(name: string): Promise<void> {
    await this.#when({
      what: `leaders of topic ${name}`,
      timeoutMs: WAIT_TIMEOUT_MS,
      look: async () => {
        const topic = this.#topic(name)
        if (topic !== undefined) await this.#offsets(topic)
        return true as const
      },
      seen: () => 'each of them',
    })
  }

  /** @throws KafkaError while nobody coordinates the group, or nobody leads what it reads */
  async #viewGroup(groupId: string): Promise<GroupView> {
    const offsetsTopic = this.#topic(CONSUMER_OFFSETS)
    // Nobody has asked for a coordinator yet: so every broker has it as a group that is not there.
    if (offsetsTopic === undefined) return withLag(deadGroup(groupId), [])
    const { topicId, partitions } = offsetsTopic
    const { node } = this.#led(topicId, coordinatorPartition(groupId, partitions.length))
    const group = await node.coordinatedGroup(groupId)
    const offsets = new Map<string, LedOffsets[]>()
    for (const id of new Set(group.partitions.map(each => each.topicId))) {
      const topic = this.#hub.image.topicsById.get(id)
      if (topic === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
      offsets.set(id, await this.#offsets(topic))
    }
    return withLag(
      group,
      group.partitions.map(each => (offsets.get(each.topicId) as LedOffsets[])[each.partition]),
    )
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
      look: async () => {
        const group = await this.#viewGroup(groupId)
        return isReached(group, goal) ? group : undefined
      },
      seen: async () => describeGroupView(await this.#viewGroup(groupId)),
    })
  }

  async evictMembers(groupId?: string) {
    const running = [...this.#nodes].filter(([id]) => this.#hub.place(id).state === 'running')
    const counts = await Promise.all(running.map(([, node]) => node.methods.evictMembers(groupId)))
    return counts.reduce((sum, count) => sum + count, 0)
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
function checkHighWatermarks(topic: string, offsets: readonly LedOffsets[]): void {
  const lagging = offsets.findIndex(({ highWatermarkLags }) => highWatermarkLags)
  if (lagging === -1) return
  const name = `${topic}-${lagging}`
  throw new KafkaError('OFFSET_NOT_AVAILABLE', `the high watermark of ${name} lags behind what its new leader found`)
}

async function unlessPassing<T, U>(act: () => T | Promise<T>, passing: (error: Error) => U): Promise<T | U> {
  try {
    return await act()
  } catch (error) {
    // Whoever looks may look again when a thread ends in the midst of it.
    if (error instanceof KafkaError ? PASSING.includes(error.error) : isOfEndedThread(error)) {
      return passing(error as Error)
    }
    throw error
  }
}
