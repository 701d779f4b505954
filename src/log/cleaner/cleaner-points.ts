/**
 * Up to where each log is clean, kept in `cleaner-offset-checkpoint` in Kafka's format. A point that is too low costs work; one that is
 * too high, too: what was not compared then is compared with later records only. Nothing is ever lost by it.
 */

import type { Storage, StorageFailure } from '../../storage/storage.ts'
import type { Env } from '../../util/env.ts'
import type { Later } from '../../util/later.ts'
import { PartitionOffsets } from '../partition-offsets.ts'
import { CHECKPOINT_FILES } from '../root-files.ts'
import type { Segments } from '../segments.ts'
import type { CleanableLog } from './cleanable-log.ts'

export class CleanerPoints {
  readonly #storage: Storage
  readonly #file: PartitionOffsets
  readonly #points: Map<string, number>
  /** Whose point it is: a topic may be deleted and made again. */
  readonly #owners = new Map<string, Segments>()

  constructor(storage: Storage, env: Env) {
    this.#storage = storage
    this.#file = new PartitionOffsets(storage, CHECKPOINT_FILES.cleaned, env)
    this.#points = new Map(this.#file.all)
  }

  /** Undefined for a log that was never cleaned. */
  of(log: CleanableLog): number | undefined {
    const { topicPartition, segments } = log
    const owner = this.#owners.get(topicPartition)
    if (owner !== undefined && owner !== segments) this.#points.delete(topicPartition)
    this.#owners.set(topicPartition, segments)
    const known = this.#points.get(topicPartition)
    const cut = segments.lowestCut
    segments.lowestCut = Number.POSITIVE_INFINITY
    if (known === undefined || known <= cut) return known
    // Who reads the file after a restart does not know that the log was cut.
    this.set(log, cut)
    return cut
  }

  set({ topicPartition, segments }: CleanableLog, offset: number): void {
    segments.lowestCut = Number.POSITIVE_INFINITY
    this.#points.set(topicPartition, offset)
    this.#file.write(() => {
      for (const each of this.#points.keys()) {
        if (this.#storage.exists(each)) continue
        this.#points.delete(each)
        this.#owners.delete(each)
      }
      return new Map(this.#points)
    })
  }

  /** Settles once what was written last would survive a power cut. */
  settled(): Later<StorageFailure | undefined> {
    return this.#file.settled()
  }
}
