/**
 * Readers get what is in the log, at the offset where it is. Of a log whose files were changed beneath it they get at least nothing
 * that nobody has sent there.
 */

import { type Checker, type HistoryEvent, Violation } from '../history.ts'
import type { ObservedLog } from '../observed-log.ts'
import type { LogContents } from './log-contents.ts'

const NAME = 'reads'

export class Reads implements Checker {
  readonly name = NAME
  readonly #contents: () => LogContents
  /** Where each record was sent to. */
  readonly #sent = new Map<string, string>()
  /** Places that were read and lost afterwards, as they may be with `flush: 'os'`. */
  readonly #lost = new Set<string>()

  constructor(contents: () => LogContents) {
    this.#contents = contents
  }

  event(event: HistoryEvent): void {
    if (event.type === 'sent') this.#sent.set(event.record.id, `${event.record.topic}-${event.record.partition}`)
    if (event.type !== 'read') return
    const { topic, partition, offset, value } = event
    const place = `${topic}-${partition}`
    if (this.#lost.has(`${place} ${value}`)) return
    const logs = this.#contents().of(topic, partition)
    // What a log took in the event in which it failed, nobody could look at.
    const isUnseen = (log: ObservedLog) => log.isDamaged || (log.isStale && offset >= log.endOffset)
    if (logs.some(isUnseen) && this.#sent.get(value) === place) return
    if (logs.some(log => log.recordAt(offset)?.id === value)) return
    const found = logs.map(log => log.recordAt(offset)?.id).join(' or ')
    throw new Violation(NAME, `${value} was read at ${place} ${offset}, where the log has ${found}`)
  }

  lost(name: string, ids: readonly string[]): void {
    for (const id of ids) this.#lost.add(`${name} ${id}`)
  }
}
