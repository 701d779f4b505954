/**
 * What the clients of a simulation did and were told, and what became of the brokers: the checkers hear of it as it happens.
 */

/** A record that a producer was given. */
export interface SentRecord {
  /** Also the beginning of its value: `producer/number`. */
  readonly id: string
  readonly producer: string
  /** Grows with each record of the producer. */
  readonly number: number
  readonly idempotent: boolean
  readonly acks: -1 | 0 | 1
  readonly topic: string
  readonly partition: number
  readonly key: string | null
}

interface Place {
  readonly topic: string
  readonly partition: number
}

export type CrashKind = 'kill' | 'power'

export type HistoryEvent =
  | { readonly type: 'sent'; readonly record: SentRecord }
  /** The broker has acknowledged it; the offset is −1 where it did not say. */
  | { readonly type: 'acknowledged'; readonly record: SentRecord; readonly offset: number }
  /** The producer has given it up; it may be stored. */
  | { readonly type: 'failed'; readonly record: SentRecord; readonly code: string }
  | ({ readonly type: 'read'; readonly group: string; readonly offset: number; readonly value: string } & Place)
  | ({ readonly type: 'committing'; readonly group: string; readonly offset: number } & Place)
  | ({ readonly type: 'committed'; readonly group: string; readonly offset: number } & Place)
  | { readonly type: 'creatingTopic' | 'topicCreated' | 'deletingTopic' | 'topicDeleted'; readonly topic: string }
  /** `request` is the same for both that belong together; `broker` is who was asked. */
  | ({
      readonly type: 'deletingRecords' | 'recordsDeleted'
      readonly offset: number
      readonly request: number
      readonly broker: number
    } & Place)
  /** A process ended: killed, or with the power of its machine, or `stop`ped in order. */
  | { readonly type: 'crashing'; readonly broker: number; readonly kind: CrashKind | 'stop' }
  | { readonly type: 'crashed'; readonly broker: number; readonly kind: CrashKind | 'stop' }
  /** A new process runs, and is ready. */
  | { readonly type: 'started'; readonly broker: number }

/** Thrown by a checker: what was promised is not so. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly checker: string

  constructor(checker: string, message: string) {
    super(`${checker}: ${message}`)
    this.checker = checker
  }
}

/** One promise that is kept or not. Each method throws a {@link Violation} when it is not. */
export interface Checker {
  readonly name: string
  event?(event: HistoryEvent): void
  /** After each moment in which anything happened. */
  step?(): void
  /** All faults have ended, all clients are done, and still connected. */
  healed?(): void
  /** The clients are gone. */
  ended?(): void
}

export class History {
  readonly #checkers: readonly Checker[]
  readonly #trace: ((text: string) => void) | undefined

  /** @param trace is given each event in words; undefined when nobody reads them */
  constructor(checkers: readonly Checker[], trace: ((text: string) => void) | undefined) {
    this.#checkers = checkers
    this.#trace = trace
  }

  add(event: HistoryEvent): void {
    this.#trace?.(describe(event))
    for (const checker of this.#checkers) checker.event?.(event)
  }
}

function describe(event: HistoryEvent): string {
  switch (event.type) {
    case 'sent':
    case 'acknowledged':
    case 'failed': {
      const { id, topic, partition, acks } = event.record
      const more =
        event.type === 'sent' ? ` acks=${acks}` : event.type === 'failed' ? ` ${event.code}` : ` at ${event.offset}`
      return `${event.type} ${id} ${topic}-${partition}${more}`
    }
    case 'read':
      return `read by ${event.group} ${event.topic}-${event.partition} at ${event.offset} ${event.value}`
    case 'committing':
    case 'committed':
      return `${event.type} ${event.group} ${event.topic}-${event.partition} ${event.offset}`
    case 'deletingRecords':
    case 'recordsDeleted':
      return `${event.type} ${event.topic}-${event.partition} ${event.offset} (broker ${event.broker})`
    case 'crashing':
    case 'crashed':
      return `${event.type} broker ${event.broker} ${event.kind}`
    case 'started':
      return `started broker ${event.broker}`
    default:
      return `${event.type} ${event.topic}`
  }
}
