/**
 * An acknowledged acks=all record survives: it lies where the producer was told, below the high watermark, unless it was lost as it may be
 * (see replicas.ts). Records of an idempotent producer are there once and in the order in which they were sent, and readers get
 * what was replicated and nothing else.
 */

import { isInternalTopic } from '../../../../src/broker/internal-topics.ts'
import { type Checker, type HistoryEvent, type SentRecord, Violation } from '../../history.ts'
import type { ObservedBatch } from '../../observed-log.ts'
import type { CommittedLog } from './committed-log.ts'
import type { ReplicaListener, Replicas } from './replicas.ts'

const NAME = 'replicated records'

export class ReplicatedRecords implements Checker, ReplicaListener {
  readonly name = NAME
  readonly #replicas: () => Replicas
  readonly #sent = new Map<string, SentRecord>()
  readonly #lost = new Set<string>()
  /** Acknowledged in the moment in which a leader died: another has it, and shows it once it leads. */
  readonly #unseen: { record: SentRecord; offset: number }[] = []
  /** Read in the event in which the log of a leader failed: the others have it. */
  readonly #readUnseen: { log: CommittedLog; offset: number; value: string }[] = []
  /** By log and producer: the numbers that were replicated, in order. */
  readonly #numbers = new Map<string, number[]>()

  constructor(replicas: () => Replicas) {
    this.#replicas = replicas
  }

  event(event: HistoryEvent): void {
    if (event.type === 'sent') this.#sent.set(event.record.id, event.record)
    else if (event.type === 'acknowledged' && event.record.acks === -1) {
      const { record, offset } = event
      if (!this.#isThere(record, offset)) this.#unseen.push({ record, offset })
    } else if (event.type === 'read') this.#read(event)
  }

  #isThere({ topic, partition, id }: SentRecord, offset: number): boolean {
    const log = this.#replicas().of(topic, partition)
    if (this.#lost.has(id)) return true
    return offset < 0 ? log?.offsetOf(id) !== undefined : log?.recordAt(offset)?.id === id
  }

  #read({ topic, partition, offset, value }: HistoryEvent & { type: 'read' }): void {
    const log = this.#replicas().of(topic, partition)
    const found = log?.recordAt(offset)?.id
    if (found === value || this.#lost.has(value) || log?.hasLost) return
    if (found === undefined && log !== undefined && offset < log.unseenUpTo) {
      this.#readUnseen.push({ log, offset, value })
      return
    }
    throw new Violation(
      NAME,
      `${value} was read at ${topic}-${partition} ${offset}, where ${found ?? 'nothing'} was replicated`,
    )
  }

  committed(log: CommittedLog, { records }: ObservedBatch): void {
    if (isInternalTopic(log.topic)) return
    for (const { id, offset } of records) {
      const record = this.#sent.get(id)
      if (record === undefined) throw new Violation(NAME, `${log.name} ${offset}: nobody sent ${id || 'this'}`)
      this.#lost.delete(id)
      if (record.idempotent) this.#inOrder(log, record, offset)
    }
  }

  #inOrder(log: CommittedLog, { producer, number, id }: SentRecord, offset: number): void {
    const key = `${log.name} ${producer}`
    const numbers = this.#numbers.get(key) ?? []
    this.#numbers.set(key, numbers)
    // A broker that has lost records has lost what it knew of their producer, too.
    if (!log.hasLost) {
      if (numbers.includes(number)) throw new Violation(NAME, `${id} is twice in ${log.name}, again at ${offset}`)
      const last = numbers.at(-1) ?? 0
      if (number < last) throw new Violation(NAME, `${id} at ${log.name} ${offset}, behind number ${last}`)
    }
    numbers.push(number)
  }

  lost(_log: CommittedLog, batches: readonly ObservedBatch[]): void {
    for (const { id } of batches.flatMap(({ records }) => records)) this.#lost.add(id)
  }

  healed(): void {
    for (const { log, offset, value } of this.#readUnseen) {
      const found = log.recordAt(offset)?.id
      if (found === value || log.hasLost) continue
      throw new Violation(
        NAME,
        `${value} was read at ${log.name} ${offset}, where ${found ?? 'nothing'} was replicated`,
      )
    }
    for (const { record, offset } of this.#unseen) {
      const { topic, partition, id } = record
      const log = this.#replicas().of(topic, partition)
      if (log?.hasLost || this.#isThere(record, offset)) continue
      const found = log?.recordAt(offset)?.id ?? 'nothing'
      throw new Violation(
        NAME,
        `${id} was acknowledged at ${topic}-${partition} ${offset}, where the replicas have ${found}`,
      )
    }
  }
}
