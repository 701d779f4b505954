/**
 * Up to where each log is clean, kept in `cleaner-offset-checkpoint` in Kafka's format: a line of topic, partition and offset each. A
 * log that was cut below its point lowers it itself.
 */

import type { Storage, StorageFailure } from '../../storage/storage.ts'
import type { Env } from '../../util/env.ts'
import type { Later } from '../../util/later.ts'
import { CheckpointFile } from '../checkpoint-file.ts'
import type { CleanableLog } from './cleanable-log.ts'

const FILE = 'cleaner-offset-checkpoint'

export class CleanerPoints {
  readonly #file: CheckpointFile
  #read: Map<string, number> | undefined

  constructor(storage: Storage, env: Env) {
    this.#file = new CheckpointFile(storage, FILE, env)
  }

  /** Undefined for a log that was never cleaned. */
  of(log: CleanableLog): number | undefined {
    const known = this.#points.get(log.topicPartition)
    if (known === undefined) return undefined
    const offset = Math.min(known, log.segments.lowestCut)
    this.#points.set(log.topicPartition, offset)
    return offset
  }

  set(log: CleanableLog, offset: number): void {
    log.segments.lowestCut = Number.POSITIVE_INFINITY
    this.#points.set(log.topicPartition, offset)
    this.#write()
  }

  forget(topicPartition: string): void {
    if (this.#points.delete(topicPartition)) this.#write()
  }

  /** Settles once nothing is being written any more. */
  settled(): Later<StorageFailure | undefined> {
    return this.#file.settled()
  }

  get #points(): Map<string, number> {
    this.#read ??= new Map(
      this.#file.read().map(([topic, partition, offset]) => [`${topic}-${partition}`, Number(offset)]),
    )
    return this.#read
  }

  #write(): void {
    const points = this.#points
    this.#file.write(() =>
      [...points].map(([name, offset]) => {
        const dash = name.lastIndexOf('-')
        return `${name.slice(0, dash)} ${name.slice(dash + 1)} ${offset}`
      }),
    )
  }
}
