/** Readers get what is in the log, at the offset where it is, and nothing above the high watermark. */

import { type Checker, type HistoryEvent, Violation } from '../history.ts'
import type { LogContents } from './log-contents.ts'

const NAME = 'reads'

export class Reads implements Checker {
  readonly name = NAME
  readonly #contents: () => LogContents
  /** Places that were read and lost afterwards, as they may be with `flush: 'os'`. */
  readonly #lost = new Set<string>()

  constructor(contents: () => LogContents) {
    this.#contents = contents
  }

  event(event: HistoryEvent): void {
    if (event.type !== 'read') return
    const { topic, partition, offset, value } = event
    if (this.#lost.has(`${topic}-${partition} ${value}`)) return
    const logs = this.#contents().of(topic, partition)
    if (logs.some(log => log.recordAt(offset)?.id === value)) return
    const found = logs.map(log => log.recordAt(offset)?.id).join(' or ')
    throw new Violation(NAME, `${value} was read at ${topic}-${partition} ${offset}, where the log has ${found}`)
  }

  lost(name: string, ids: readonly string[]): void {
    for (const id of ids) this.#lost.add(`${name} ${id}`)
  }
}
