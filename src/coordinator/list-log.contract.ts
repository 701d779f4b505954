import { type ErrorName, KafkaError } from '../protocol/errors.ts'
import type { CoordinatorLog, CoordinatorRecord, TopicsView } from './ports.ts'

/**
 * Doubles of what a coordinator is given: a log as a list, whose high watermark and failures a test decides, and topics
 * that a test makes and deletes. For tests alone.
 */
export class ListLog implements CoordinatorLog {
  readonly records: CoordinatorRecord[] = []
  /** Where each batch ends. */
  readonly ends: number[] = []
  /** What the next appends are refused with. */
  failing: ErrorName | undefined
  /** Whether the high watermark stands still until `commit`. */
  held = false
  #highWatermark = 0
  readonly #listeners = new Set<(highWatermark: number) => void>()

  /** A log that begins with what another holds. */
  static from(records: readonly CoordinatorRecord[]): ListLog {
    const log = new ListLog()
    log.records.push(...records)
    log.#highWatermark = records.length
    return log
  }

  append(records: readonly CoordinatorRecord[]): number {
    if (this.failing !== undefined) throw new KafkaError(this.failing)
    this.records.push(...records)
    this.ends.push(this.records.length)
    if (!this.held) this.commit()
    return this.records.length
  }

  get highWatermark(): number {
    return this.#highWatermark
  }

  /** Moves the high watermark, to the end unless told otherwise. */
  commit(offset: number = this.records.length): void {
    this.#highWatermark = offset
    for (const listener of this.#listeners) listener(offset)
  }

  onHighWatermark(listener: (highWatermark: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** How many are subscribed: a coordinator that resigned must not be. */
  get listeners(): number {
    return this.#listeners.size
  }

  replay(visit: (record: CoordinatorRecord, offset: number) => void): void {
    this.records.forEach(visit)
  }
}

/** Topics by name and id. */
export class TopicList implements TopicsView {
  readonly #byName = new Map<string, { name: string; topicId: string; partitions: number }>()
  #created = 0

  /** Makes a topic, with an id of its own even if the name was there before; returns the id. */
  create(name: string, partitions = 1): string {
    const topicId = `topicNumber${String(++this.#created).padStart(10, '0')}A`
    this.#byName.set(name, { name, topicId, partitions })
    return topicId
  }

  delete(name: string): { name: string; topicId: string } {
    const topic = this.#byName.get(name)
    if (topic === undefined) throw new Error(`no topic ${name}`)
    this.#byName.delete(name)
    return topic
  }

  topicByName(name: string) {
    return this.#byName.get(name)
  }

  topicById(topicId: string) {
    return [...this.#byName.values()].find(topic => topic.topicId === topicId)
  }
}
