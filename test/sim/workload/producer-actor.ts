/** A producer: sends numbered records to all partitions, while told to, and keeps account of what becomes of each. */

import { Producer } from '../../../src/client/index.ts'
import { utf8Encode } from '../../../src/util/utf8.ts'
import type { Chance } from '../chance.ts'
import type { History, SentRecord } from '../history.ts'
import type { PlannedProducer, PlannedTopic } from '../plan.ts'
import { ClientProcess, type ClientWorld } from './client-process.ts'

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
    const {
      name: topic,
      partitions,
      isCompacted,
    } = chance.pick(extra.length > 0 && chance.maybe(0.2) ? extra : this.#topics)
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
    const text = utf8Encode(`${record.id} ${padding}`)
    const isTombstone = isCompacted && chance.maybe(0.1)
    const value = isTombstone ? null : text
    const headers = isTombstone ? [{ key: 'id', value: text }] : []
    this.#history.add({ type: 'sent', record })
    this.#outstanding++
    const { partition, key } = record
    this.#producer.send({ topic, partition, key: utf8Encode(key as string), value, headers }).whenSettled(result => {
      this.#outstanding--
      if (result.ok) this.#history.add({ type: 'acknowledged', record, offset: result.value.offset })
      else this.#history.add({ type: 'failed', record, code: result.error.code })
    })
  }
}
