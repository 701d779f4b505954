/**
 * The clients of a simulation: producers, members of groups, and somebody who administers. Each is a process of its own on the
 * simulated network, runs our own client, and tells the history what it does and what it is told.
 */

import {
  type ConsumerRecord,
  createTopics,
  deleteTopics,
  GroupConsumer,
  KafkaClient,
  type Later,
  type OffsetToCommit,
  Producer,
} from '../../src/client/index.ts'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform } from '../broker/harness.ts'
import { BROKER_PORT } from './broker-process.ts'
import type { Chance } from './chance.ts'
import type { History, SentRecord } from './history.ts'
import type { SimulatedNetwork } from './network.ts'
import type { PlannedGroup, PlannedProducer, PlannedTopic } from './plan.ts'
import { ProcessEnv } from './process-env.ts'

/** What all clients need. */
export interface ClientWorld {
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly history: History
  readonly brokerIds: readonly number[]
}

/** A process with a client in it. */
export class ClientProcess {
  readonly env: ProcessEnv
  readonly client: KafkaClient
  readonly #network: SimulatedNetwork

  constructor(name: string, { world, network, brokerIds }: ClientWorld, chance: Chance) {
    this.env = new ProcessEnv({ name, world, chance })
    this.#network = network
    this.client = new KafkaClient({
      env: this.env,
      transport: network.transport(this.env),
      bootstrap: brokerIds.map(id => ({ host: `broker-${id}`, port: BROKER_PORT })),
      platform,
      clientId: name,
      allowAutoTopicCreation: false,
      requestTimeoutMs: 1500,
      apiTimeoutMs: 20_000,
      retryBackoffMs: 30,
      retryBackoffMaxMs: 300,
      metadataMaxAgeMs: 5000,
    })
  }

  /** Calls something on the client from outside. */
  do<T>(run: () => T): T {
    let value: T | undefined
    this.env.enter(() => {
      value = run()
    })
    return value as T
  }

  /** Ends without a word. */
  kill(): void {
    this.env.kill()
    this.#network.processDied(this.env, 'kill')
  }

  close(): void {
    this.do(() => this.client.close())
  }
}

/** Sends numbered records to all partitions, while told to. */
export class ProducerActor {
  readonly process: ClientProcess
  readonly #producer: Producer
  readonly #plan: PlannedProducer
  readonly #topics: readonly PlannedTopic[]
  readonly #history: History
  readonly #chance: Chance
  readonly #extraTopics: () => readonly PlannedTopic[]
  #sent = 0
  #outstanding = 0
  #working = true

  constructor(
    plan: PlannedProducer,
    topics: readonly PlannedTopic[],
    extraTopics: () => readonly PlannedTopic[],
    shared: ClientWorld,
    chance: Chance,
  ) {
    this.#plan = plan
    this.#topics = topics
    this.#extraTopics = extraTopics
    this.#history = shared.history
    this.#chance = chance
    this.process = new ClientProcess(plan.name, shared, chance.fork())
    const { acks, idempotent, compression, lingerMs, batchBytes } = plan
    const deliveryTimeoutMs = chance.pick([3000, 20_000])
    this.#producer = new Producer(this.process.client, {
      acks,
      idempotent,
      compression,
      lingerMs,
      batchBytes,
      deliveryTimeoutMs,
      maxBlockMs: 3000,
      timeoutMs: 1000,
    })
    this.process.do(() => this.#loop())
  }

  get isDone(): boolean {
    return !this.#working && this.#outstanding === 0
  }

  stop(): void {
    this.#working = false
  }

  #loop(): void {
    if (!this.#working) return
    const burst = this.#chance.maybe(0.1) ? this.#chance.between(5, 15) : 1
    for (let index = 0; index < burst && this.#outstanding < 60; index++) this.#send()
    this.process.env.timer(this.#chance.between(1, 2 * this.#plan.pauseMs), () => this.#loop())
  }

  #send(): void {
    const chance = this.#chance
    const extra = this.#extraTopics()
    const { name: topic, partitions } = chance.pick(extra.length > 0 && chance.maybe(0.2) ? extra : this.#topics)
    const number = ++this.#sent
    const { name: producer, acks, idempotent } = this.#plan
    const record: SentRecord = {
      id: `${producer}/${number}`,
      producer,
      number,
      acks,
      idempotent,
      topic,
      partition: chance.below(partitions),
      key: `k${chance.below(20)}`,
    }
    const padding = '.'.repeat(chance.maybe(0.1) ? chance.below(2000) : chance.below(100))
    const value = utf8Encode(`${record.id} ${padding}`)
    this.#history.add({ type: 'sent', record })
    this.#outstanding++
    const { partition, key } = record
    this.#producer.send({ topic, partition, key: utf8Encode(key as string), value }).whenSettled(result => {
      this.#outstanding--
      if (result.ok) this.#history.add({ type: 'acknowledged', record, offset: result.value.offset })
      else this.#history.add({ type: 'failed', record, code: result.error.code })
    })
  }
}

/** The id of the record that a value was made for. */
export function idOf(value: Uint8Array | null): string {
  return value === null ? '' : utf8Decode(value).split(' ', 1)[0]
}

/** A member of a group: reads, and commits what it read now and then. */
export class MemberActor {
  readonly process: ClientProcess
  readonly consumer: GroupConsumer
  readonly #group: PlannedGroup
  readonly #history: History
  readonly #chance: Chance
  #working = true
  #closing: Later<unknown> | undefined
  #busy = 0

  constructor(name: string, group: PlannedGroup, shared: ClientWorld, chance: Chance) {
    this.#group = group
    this.#history = shared.history
    this.#chance = chance
    this.process = new ClientProcess(name, shared, chance.fork())
    this.consumer = this.process.do(() => {
      const consumer = new GroupConsumer(this.process.client, {
        groupId: group.id,
        topics: group.topics,
        assignors: [group.assignor],
        autoOffsetReset: 'earliest',
        sessionTimeoutMs: 2000,
        rebalanceTimeoutMs: 4000,
        heartbeatIntervalMs: 300,
        maxWaitMs: chance.pick([20, 200]),
        maxPollRecords: chance.pick([5, 500]),
        partitionMaxBytes: chance.pick([200, 1_048_576]),
      })
      return consumer
    })
    this.process.do(() => this.#loop())
  }

  get status(): string {
    return this.consumer.member.status
  }

  get isClosed(): boolean {
    return this.#closing?.settled ?? false
  }

  /** No commit is on its way. */
  get isIdle(): boolean {
    return this.#busy === 0
  }

  #loop(): void {
    if (!this.#working) return
    this.consumer.poll(300).whenSettled(result => {
      if (!this.#working) return
      if (result.ok) {
        this.#read(result.value)
        if (this.#chance.maybe(0.3)) this.commit()
      } else if (result.error.code === 'OTTLA_CLIENT_CLOSED') return
      this.process.env.timer(this.#chance.between(1, 100), () => this.#loop())
    })
  }

  #read(records: readonly ConsumerRecord[]): void {
    const { id: group } = this.#group
    for (const { topic, partition, offset, value } of records) {
      this.#history.add({ type: 'read', group, topic, partition, offset, value: idOf(value) })
    }
  }

  /** Commits how far it has read. */
  commit(): void {
    const { id: group } = this.#group
    const offsets: OffsetToCommit[] = this.consumer.consumer.assignment.flatMap(each => {
      const position = this.consumer.consumer.positionNow(each)
      return position === undefined ? [] : [{ ...each, ...position }]
    })
    for (const { topic, partition, offset } of offsets) {
      this.#history.add({ type: 'committing', group, topic, partition, offset })
    }
    this.#busy++
    this.consumer.commit(offsets).whenSettled(result => {
      this.#busy--
      if (!result.ok) return
      for (const { topic, partition, offset } of offsets) {
        this.#history.add({ type: 'committed', group, topic, partition, offset })
      }
    })
  }

  /** Leaves the group in order. */
  close(): void {
    this.#working = false
    this.#closing ??= this.process.do(() => this.consumer.close())
  }

  kill(): void {
    this.#working = false
    this.process.kill()
  }
}

/** Creates and deletes topics, and deletes records. */
export class AdminActor {
  readonly process: ClientProcess
  readonly #topics: readonly PlannedTopic[]
  readonly #extra = new Map<string, PlannedTopic>()
  readonly #history: History
  readonly #chance: Chance
  readonly #endOf: (topic: string, partition: number) => number
  #outstanding = 0
  #working = true

  /** @param endOf how far a partition reaches, as far as anybody knows */
  constructor(
    topics: readonly PlannedTopic[],
    endOf: (topic: string, partition: number) => number,
    shared: ClientWorld,
    chance: Chance,
  ) {
    this.#topics = topics
    this.#history = shared.history
    this.#chance = chance
    this.#endOf = endOf
    this.process = new ClientProcess('admin', shared, chance.fork())
  }

  /** Topics that come and go. */
  get extraTopics(): readonly PlannedTopic[] {
    return [...this.#extra.values()]
  }

  get isDone(): boolean {
    return !this.#working && this.#outstanding === 0
  }

  /** Creates what is to be there from the beginning, and calls `then`. */
  prepare(then: () => void): void {
    this.process.do(() => this.#create(this.#topics, then))
  }

  begin(): void {
    this.process.do(() => this.#loop())
  }

  stop(): void {
    this.#working = false
  }

  #loop(): void {
    this.process.env.timer(this.#chance.between(50, 800), () => {
      if (!this.#working) return
      if (this.#outstanding < 3) this.#act()
      this.#loop()
    })
  }

  #act(): void {
    const chance = this.#chance
    if (chance.maybe(0.5)) return this.#deleteRecords()
    const name = `extra${chance.between(1, 2)}`
    if (this.#extra.has(name)) this.#delete(name)
    else this.#create([{ name, partitions: chance.between(1, 2), configs: this.#topics[0].configs }], () => {})
  }

  #create(topics: readonly PlannedTopic[], then: () => void): void {
    for (const { name: topic } of topics) this.#history.add({ type: 'creatingTopic', topic })
    this.#outstanding++
    createTopics(this.process.client, topics).whenSettled(result => {
      this.#outstanding--
      for (const topic of topics) {
        const made = result.ok ? result.value.get(topic.name) : result
        if (made === undefined || (!made.ok && made.error.code !== 'TOPIC_ALREADY_EXISTS')) continue
        if (!this.#topics.includes(topic)) this.#extra.set(topic.name, topic)
        this.#history.add({ type: 'topicCreated', topic: topic.name })
      }
      then()
    })
  }

  #delete(topic: string): void {
    this.#history.add({ type: 'deletingTopic', topic })
    this.#outstanding++
    this.#extra.delete(topic)
    deleteTopics(this.process.client, [topic]).whenSettled(result => {
      this.#outstanding--
      const deleted = result.ok ? result.value.get(topic) : result
      if (deleted?.ok || deleted?.error.code === 'UNKNOWN_TOPIC_OR_PARTITION') {
        this.#history.add({ type: 'topicDeleted', topic })
      }
    })
  }

  #deleteRecords(): void {
    const { name: topic, partitions } = this.#chance.pick(this.#topics)
    const partition = this.#chance.below(partitions)
    const offset = this.#chance.between(0, this.#endOf(topic, partition))
    const { client } = this.process
    this.#outstanding++
    client.topics([topic]).whenSettled(() => {
      this.#history.add({ type: 'deletingRecords', topic, partition, offset })
      const broker = client.metadata.partition(topic, partition)?.leaderId ?? -1
      const topics = [{ name: topic, partitions: [{ partitionIndex: partition, offset }] }]
      client.request(deleteRecords, { topics, timeoutMs: 1000 }, { broker }).whenSettled(result => {
        this.#outstanding--
        const answer = result.ok ? result.value.topics[0].partitions[0] : undefined
        if (answer?.errorCode !== 0) return
        this.#history.add({ type: 'recordsDeleted', topic, partition, offset: answer.lowWatermark })
      })
    })
  }
}
