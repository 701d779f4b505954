/** One offset for each of many partitions in a file: the checkpoints in the root of a data directory (Kafka's `OffsetCheckpointFile`). */

import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { CheckpointFile } from './checkpoint-file.ts'

export class PartitionOffsets {
  readonly #file: CheckpointFile
  /** What was read or written last, by `topic-partition`. */
  #offsets: Map<string, number>
  /** What the file said for sure before that: it may still, until the write is done. */
  #before: ReadonlyMap<string, number> = new Map()
  /** The file says something else about a partition that is gone. */
  #hasForgotten = false

  constructor(storage: Storage, name: string, env: Env) {
    this.#file = new CheckpointFile(storage, name, env)
    this.#offsets = this.#read()
  }

  #read(): Map<string, number> {
    const offsets = new Map<string, number>()
    for (const [topic, partition, offset, ...rest] of this.#file.read()) {
      if (rest.length > 0 || !/^\d+$/.test(partition ?? '') || !/^\d+$/.test(offset ?? '')) {
        this.#file.broken()
        return new Map()
      }
      offsets.set(`${topic}-${partition}`, Number(offset))
    }
    return offsets
  }

  get(topicPartition: string): number | undefined {
    return this.#offsets.get(topicPartition)
  }

  /** The partition is gone: one that comes under its name is another one. True when the file is to be written for that. */
  forget(topicPartition: string): boolean {
    const isKnown = this.#offsets.delete(topicPartition)
    this.#hasForgotten ||= isKnown
    return isKnown
  }

  get all(): ReadonlyMap<string, number> {
    return this.#offsets
  }

  /** Whether whoever reads the file now, after a power cut or not, finds for this partition no more than `offset`. */
  isAtMost(topicPartition: string, offset: number): boolean {
    if (this.#isStale || (this.#offsets.get(topicPartition) ?? 0) > offset) return false
    // What is being written for others must not hold up this one: with several partitions that ask, something is always being written.
    return this.writing === undefined || (this.#before.get(topicPartition) ?? 0) <= offset
  }

  /** What whoever reads the file now, after a power cut or not, finds for this partition at least. */
  atLeast(topicPartition: string): number {
    const offset = this.get(topicPartition) ?? 0
    if (!this.isBehind && this.writing === undefined) return offset
    return Math.min(offset, this.#before.get(topicPartition) ?? 0)
  }

  /** Writes what `offsets` returns when it is its turn, unless that is what is there already. */
  write(offsets: () => Map<string, number>): Later<StorageFailure | undefined> {
    // Where a write waits for its turn it takes along what is new: only one that would be the first is worth the comparison.
    if (!this.#isStale && this.writing === undefined && isSame(this.#offsets, offsets())) return this.#file.settled()
    return this.#file.write(() => {
      if (!this.isBehind) this.#before = this.#offsets
      this.#offsets = offsets()
      this.#hasForgotten = false
      return [...this.#offsets].map(([topicPartition, offset]) => {
        const dash = topicPartition.lastIndexOf('-')
        return `${topicPartition.slice(0, dash)} ${topicPartition.slice(dash + 1)} ${offset}`
      })
    })
  }

  get #isStale(): boolean {
    return this.isBehind || this.#hasForgotten
  }

  /** True after a write that failed, until one succeeds. */
  get isBehind(): boolean {
    return this.#file.hasFailed
  }

  /** Settles once what was written last would survive a power cut; undefined when it would already. */
  get writing(): Later<StorageFailure | undefined> | undefined {
    return this.#file.writing
  }

  /** The same for whoever waits in any case. */
  settled(): Later<StorageFailure | undefined> {
    return this.#file.settled()
  }
}

function isSame(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean {
  if (one.size !== other.size) return false
  for (const [key, value] of one) if (other.get(key) !== value) return false
  return true
}
