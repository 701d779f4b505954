/**
 * What a group has committed stays committed: it never goes back, except by another commit. After a crash a group has what was
 * acknowledged last, or something that was committed after that.
 */

import type { BrokerProcess } from '../broker-process.ts'
import { type Checker, type HistoryEvent, Violation } from '../history.ts'

const NAME = 'committed offsets'

interface Watched {
  /** Everything that it has ever been. */
  readonly ever: Set<number>
  /** What it was, and everything it has been since the last acknowledgement, oldest first. */
  values: number[]
  /** What a crash may have left; undefined while none has been. */
  allowed: Set<number | undefined> | undefined
}

export class CommittedOffsets implements Checker {
  readonly name = NAME
  readonly #processes: readonly BrokerProcess[]
  readonly #flush: 'os' | 'commit'
  readonly #watched = new Map<string, Watched>()
  readonly #deleted = new Set<string>()
  /** A bit was turned over somewhere. */
  isDamaged = false

  constructor(processes: readonly BrokerProcess[], flush: 'os' | 'commit') {
    this.#processes = processes
    this.#flush = flush
  }

  event(event: HistoryEvent): void {
    if (event.type === 'deletingTopic') this.#deleted.add(event.topic)
    if (event.type === 'committed') this.#acknowledged(event)
    if (event.type === 'crashing') for (const watched of this.#watched.values()) this.#crashed(watched, event.kind)
  }

  #acknowledged({ group, topic, partition, offset }: HistoryEvent & { type: 'committed' }): void {
    if (this.#deleted.has(topic) || this.isDamaged) return
    const watched = this.#watched.get(keyOf(group, topic, partition))
    const at = watched?.values.lastIndexOf(offset) ?? -1
    if (watched === undefined || at < 0) {
      // Another commit, or a crash, may have come between the answer and its arrival.
      if (watched?.ever.has(offset)) return
      throw new Violation(NAME, `${group} was told that ${topic}-${partition} is at ${offset}, which it never was`)
    }
    watched.values = watched.values.slice(at)
  }

  #crashed(watched: Watched, kind: 'kill' | 'power' | 'stop'): void {
    const { values } = watched
    if (kind !== 'power') watched.allowed ??= new Set([values.at(-1)])
    else if (this.#flush === 'commit') {
      watched.allowed ??= new Set(values)
    } else watched.allowed = undefined
    if (kind === 'power' && this.#flush === 'os') watched.values = []
  }

  step(): void {
    for (const { running } of this.#processes) {
      for (const machine of running?.broker.groups.machines() ?? []) {
        for (const group of machine.offsets.groupIds) {
          for (const [topic, partitions] of machine.offsets.of(group)) {
            for (const [partition, { offset }] of partitions) this.#seen(keyOf(group, topic, partition), topic, offset)
          }
        }
      }
    }
  }

  #seen(key: string, topic: string, offset: number): void {
    const watched = this.#watched.get(key)
    if (watched === undefined) {
      this.#watched.set(key, { ever: new Set([offset]), values: [offset], allowed: undefined })
      return
    }
    const { allowed, values } = watched
    if (allowed !== undefined && !this.#deleted.has(topic) && !this.isDamaged && !allowed.has(offset)) {
      throw new Violation(NAME, `${key} is ${offset} after a crash, and was ${[...allowed].join(' or ')}`)
    }
    watched.allowed = undefined
    if (values.at(-1) === offset) return
    values.push(offset)
    watched.ever.add(offset)
  }

  /** What was committed is there after all crashes, also where nobody asked for it. */
  healed(): void {
    this.step()
    for (const [key, { allowed }] of this.#watched) {
      if (allowed === undefined || this.isDamaged) continue
      const topic = key.split(' ')[1]
      if (!this.#deleted.has(topic)) throw new Violation(NAME, `${key} is gone after a crash, and was ${[...allowed]}`)
    }
  }
}

function keyOf(group: string, topic: string, partition: number): string {
  return `${group} ${topic} ${partition}`
}
