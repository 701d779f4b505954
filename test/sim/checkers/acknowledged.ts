/**
 * What was acknowledged is in the log, at the offset that was told, when the acknowledgement arrives; log-contents.ts sees to it
 * that it stays. Records of an idempotent producer are there once, and in the order in which they were sent.
 */

import { isInternalTopic } from '../../../src/broker/internal-topics.ts'
import { type Checker, type HistoryEvent, type SentRecord, Violation } from '../history.ts'
import type { ObservedBatch, ObservedLog } from '../observed-log.ts'
import type { LogContents } from './log-contents.ts'

const NAME = 'acknowledged'

export class Acknowledged implements Checker {
  readonly name = NAME
  readonly #contents: () => LogContents
  readonly #sent = new Map<string, SentRecord>()
  /** Records that a crash took, as it may. */
  readonly #lost = new Set<string>()
  /**
   * Topics that were deleted at some time: one that is made anew knows no producer, and takes whatever batch comes first, which need
   * not be the first that was sent (as in Kafka).
   */
  readonly #deleted = new Set<string>()
  readonly #unseen: { record: SentRecord; offset: number }[] = []
  #isOver = false
  /** By log and producer: the numbers that are in the log, in order. */
  readonly #numbers = new Map<string, number[]>()

  constructor(contents: () => LogContents) {
    this.#contents = contents
  }

  event(event: HistoryEvent): void {
    if (event.type === 'sent') this.#sent.set(event.record.id, event.record)
    else if (event.type === 'deletingTopic') this.#deleted.add(event.topic)
    else if (event.type === 'acknowledged') this.#acknowledged(event.record, event.offset)
  }

  #acknowledged(record: SentRecord, offset: number): void {
    if (record.acks === 0 || this.#lost.has(record.id)) return
    const { topic, partition, id } = record
    const logs = this.#contents().of(topic, partition)
    const isThere = (log: ObservedLog) =>
      offset < 0 ? log.offsetOf(id) !== undefined : log.recordAt(offset)?.id === id || log.isDamaged
    if (logs.some(isThere)) return
    // It may have been appended in the moment of a crash: it has to be there when the log is opened again.
    const isUnseen = logs.length === 0 || logs.some(log => log.isStale)
    if (isUnseen && !this.#isOver) {
      this.#unseen.push({ record, offset })
      return
    }
    if (logs.some(log => log.mayHaveLost)) return
    const found = logs.map(log => `${log.recordAt(offset)?.id} (${log.endOffset} is next)`).join(' or ')
    throw new Violation(NAME, `${id} at ${topic}-${partition} ${offset}, where the log has ${found || 'nothing'}`)
  }

  step(): void {
    if (this.#unseen.length > 0)
      for (const { record, offset } of this.#unseen.splice(0)) this.#acknowledged(record, offset)
  }

  /** All logs are open now. */
  healed(): void {
    this.#isOver = true
    this.step()
  }

  /** A batch is new in a log. */
  appended(log: ObservedLog, batch: ObservedBatch): void {
    if (isInternalTopic(log.topic)) return
    for (const { id, offset } of batch.records) {
      const record = this.#sent.get(id)
      if (record === undefined) throw new Violation(NAME, `${log.name} ${offset}: nobody sent ${id || 'this'}`)
      if (record.topic !== log.topic || record.partition !== log.partition) {
        throw new Violation(NAME, `${id} was sent to ${record.topic}-${record.partition}, and is in ${log.name}`)
      }
      if (record.idempotent && !log.isDamaged) this.#inOrder(log, record, offset)
    }
  }

  #inOrder(log: ObservedLog, { producer, number, id }: SentRecord, offset: number): void {
    const key = `${log.topicId}-${log.partition} ${producer}`
    const numbers = this.#numbers.get(key) ?? []
    this.#numbers.set(key, numbers)
    const last = numbers.at(-1) ?? 0
    if (numbers.includes(number)) throw new Violation(NAME, `${id} is twice in ${log.name}, again at ${offset}`)
    if (number < last && !this.#deleted.has(log.topic))
      throw new Violation(NAME, `${id} at ${log.name} ${offset}, behind number ${last}`)
    numbers.push(number)
  }

  /** A crash took batches that were not flushed. */
  lost(log: ObservedLog, batches: readonly ObservedBatch[]): void {
    for (const { id } of batches.flatMap(({ records }) => records)) {
      this.#lost.add(id)
      const record = this.#sent.get(id)
      if (record === undefined) continue
      const key = `${log.topicId}-${log.partition} ${record.producer}`
      const numbers = this.#numbers.get(key)?.filter(number => number !== record.number)
      if (numbers !== undefined) this.#numbers.set(key, numbers)
    }
  }
}
