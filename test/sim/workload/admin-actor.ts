/** Somebody who creates and deletes topics, and deletes records. */

import { createTopics, deleteTopics } from '../../../src/client/index.ts'
import { deleteRecords } from '../../../src/protocol/apis/delete-records.ts'
import type { Chance } from '../chance.ts'
import type { History } from '../history.ts'
import type { PlannedTopic } from '../plan.ts'
import { ClientProcess, type ClientWorld } from './client-process.ts'

export class AdminActor {
  readonly process: ClientProcess
  readonly #topics: readonly PlannedTopic[]
  readonly #extra = new Map<string, PlannedTopic>()
  readonly #history: History
  readonly #chance: Chance
  readonly #endOf: (topic: string, partition: number) => number
  readonly #busy = new Set<string>()
  #outstanding = 0
  #deletions = 0
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
  prepare(offsetsTopic: PlannedTopic, then: () => void): void {
    this.process.do(() => this.#create([...this.#topics, offsetsTopic], then))
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
    // Of two requests about one topic nobody could say which comes last.
    if (this.#busy.has(name)) return
    if (this.#extra.has(name)) this.#delete(name)
    else
      this.#create(
        [{ ...this.#topics[0], name, partitions: chance.between(1, 2), isCompacted: false, configs: {} }],
        () => {},
      )
  }

  #create(topics: readonly PlannedTopic[], then: () => void): void {
    for (const { name: topic } of topics) {
      this.#busy.add(topic)
      this.#history.add({ type: 'creatingTopic', topic })
    }
    this.#outstanding++
    createTopics(this.process.client, topics).whenSettled(result => {
      this.#outstanding--
      for (const topic of topics) {
        this.#busy.delete(topic.name)
        const made = result.ok ? result.value.get(topic.name) : result
        if (made === undefined || (!made.ok && made.error.code !== 'TOPIC_ALREADY_EXISTS')) continue
        if (topic.name.startsWith('extra')) this.#extra.set(topic.name, topic)
        this.#history.add({ type: 'topicCreated', topic: topic.name })
      }
      then()
    })
  }

  #delete(topic: string): void {
    this.#history.add({ type: 'deletingTopic', topic })
    this.#busy.add(topic)
    this.#outstanding++
    this.#extra.delete(topic)
    deleteTopics(this.process.client, [topic]).whenSettled(result => {
      this.#outstanding--
      this.#busy.delete(topic)
      const deleted = result.ok ? result.value.get(topic) : result
      if (deleted?.ok || deleted?.error.code === 'UNKNOWN_TOPIC_OR_PARTITION') {
        this.#history.add({ type: 'topicDeleted', topic })
      }
    })
  }

  /** Deletes the records of some partition up to some offset. */
  deleteRecords(): void {
    this.process.do(() => this.#deleteRecords())
  }

  #deleteRecords(): void {
    const { name: topic, partitions } = this.#chance.pick(this.#topics)
    const partition = this.#chance.below(partitions)
    const offset = this.#chance.between(0, this.#endOf(topic, partition))
    const { client } = this.process
    const request = ++this.#deletions
    this.#outstanding++
    client.topics([topic]).whenSettled(() => {
      const broker = client.metadata.partition(topic, partition)?.leaderId ?? -1
      this.#history.add({ type: 'deletingRecords', topic, partition, offset, request, broker })
      const topics = [{ name: topic, partitions: [{ partitionIndex: partition, offset }] }]
      client.request(deleteRecords, { topics, timeoutMs: 1000 }, { broker }).whenSettled(result => {
        this.#outstanding--
        const answer = result.ok ? result.value.topics[0].partitions[0] : undefined
        if (answer?.errorCode !== 0) return
        this.#history.add({ type: 'recordsDeleted', topic, partition, offset: answer.lowWatermark, request, broker })
      })
    })
  }
}
