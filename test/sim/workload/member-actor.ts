/** A member of a group: reads, and commits what it read now and then. */

import { type ConsumerRecord, GroupConsumer, type Later, type OffsetToCommit } from '../../../src/client/index.ts'
import type { Chance } from '../chance.ts'
import type { History } from '../history.ts'
import type { PlannedGroup } from '../plan.ts'
import { ClientProcess, type ClientWorld, idOf } from './client-process.ts'

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
    for (const record of records) {
      const { topic, partition, offset } = record
      this.#history.add({ type: 'read', group, topic, partition, offset, value: idOf(record) })
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
