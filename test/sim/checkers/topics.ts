/** Topics that were acknowledged as created are there until somebody deletes them, and those that were deleted stay away. */

import type { BrokerProcess } from '../broker-process.ts'
import { type Checker, type HistoryEvent, Violation } from '../history.ts'

const NAME = 'topics'

export class Topics implements Checker {
  readonly name = NAME
  readonly #processes: readonly BrokerProcess[]
  /** Undefined while a request is under way, whose effect may come at any time. */
  readonly #expected = new Map<string, boolean | undefined>()
  #isDamaged = false

  constructor(processes: readonly BrokerProcess[]) {
    this.#processes = processes
  }

  /** A bit of the metadata was turned over. */
  damaged(): void {
    this.#isDamaged = true
  }

  event(event: HistoryEvent): void {
    switch (event.type) {
      case 'creatingTopic':
      case 'deletingTopic':
        this.#expected.set(event.topic, undefined)
        return
      case 'topicCreated':
        this.#expected.set(event.topic, true)
        return
      case 'topicDeleted':
        this.#expected.set(event.topic, false)
    }
  }

  step(): void {
    if (this.#isDamaged) return
    for (const { running } of this.#processes) {
      if (running === undefined || !running.isReady) continue
      for (const [topic, expected] of this.#expected) {
        const isThere = running.broker.image.topicsByName.has(topic)
        if (expected === undefined || expected === isThere) continue
        throw new Violation(NAME, expected ? `${topic} was created and is gone` : `${topic} was deleted and is back`)
      }
    }
  }
}
