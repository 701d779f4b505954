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
  /** Commits without an answer: they may be stored or not, also in the moment of a crash. */
  readonly asked: number[]
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
    if (event.type === 'committing') this.#watch(event).asked.push(event.offset)
    if (event.type === 'committed') this.#acknowledged(event)
    if (event.type === 'crashing') for (const watched of this.#watched.values()) this.#crashed(watched, event.kind)
  }

  #watch({ group, topic, partition }: { group: string; topic: string; partition: number }): Watched {
    const key = keyOf(group, topic, partition)
    const watched = this.#watched.get(key) ?? { ever: new Set(), asked: [], values: [], allowed: undefined }
    this.#watched.set(key, watched)
    return watched
  }

  #acknowledged(event: HistoryEvent & { type: 'committed' }): void {
    const { group, topic, partition, offset } = event
    const watched = this.#watch(event)
    if (watched.asked.includes(offset)) watched.asked.splice(watched.asked.indexOf(offset), 1)
    if (this.#deleted.has(topic) || this.isDamaged) return
    const at = watched.values.lastIndexOf(offset)
    if (at < 0) {
      // Another commit, or a crash, may have come between the answer and its arrival.
      if (watched.ever.has(offset)) return
      // Several that arrive in one piece are stored in one event, of which only the last is seen.
      if (watched.values.length > 0 && watched.asked.some(other => watched.values.includes(other))) return
      throw new Violation(NAME, `${group} was told that ${topic}-${partition} is at ${offset}, which it never was`)
    }
    watched.values = watched.values.slice(at)
  }

  #crashed(watched: Watched, kind: 'kill' | 'power' | 'stop'): void {
    const { values } = watched
    // Nothing was stored yet, as far as anybody knows.
    if (values.length === 0) return
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
            for (const [partition, { offset }] of partitions) this.#seen({ group, topic, partition, offset })
          }
        }
      }
    }
  }

  #seen(commit: { group: string; topic: string; partition: number; offset: number }): void {
    const { group, topic, partition, offset } = commit
    const watched = this.#watch(commit)
    const { allowed, values, asked } = watched
    const isFine = allowed === undefined || allowed.has(offset) || asked.includes(offset)
    if (!isFine && !this.#deleted.has(topic) && !this.isDamaged) {
      const before = [...(allowed ?? [])].join(' or ')
      throw new Violation(NAME, `${group} has ${offset} of ${topic}-${partition} after a crash, and had ${before}`)
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
