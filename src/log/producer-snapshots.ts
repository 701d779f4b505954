/**
 * The snapshots of a log's producers in its directory: one taken where each segment begins, and the newest. With the newest at or
 * below an offset, what producers were like there is known by reading on from it (Kafka's `ProducerStateManager`, the part that
 * deals with files).
 */

import type { Crc32c } from '../records/crc32c.ts'
import { readWhole } from '../storage/read-whole.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { decodeSnapshot, encodeSnapshot } from './producer-snapshot.ts'
import type { ProducerEntry } from './producer-state.ts'
import { fileName, offsetOf, SNAPSHOT_SUFFIX } from './segment-files.ts'

/** How many are kept beside those where segments begin. */
const NEWEST_KEPT = 2

export class ProducerSnapshots {
  readonly #storage: Storage
  readonly #directory: string
  readonly #env: Env
  readonly #crc32c: Crc32c
  /** In order. */
  #offsets: number[] = []

  constructor(options: { storage: Storage; directory: string; env: Env; crc32c: Crc32c }) {
    this.#storage = options.storage
    this.#directory = options.directory
    this.#env = options.env
    this.#crc32c = options.crc32c
  }

  /** Learns which there are from the names in the directory. */
  found(names: readonly string[]): void {
    const offsets = names.map(name => offsetOf(name, SNAPSHOT_SUFFIX)).filter(offset => offset !== undefined)
    this.#offsets = offsets.sort((a, b) => a - b)
  }

  /** The newest that was taken at or below `offset` and can be read. Those that cannot are removed. */
  newest(offset: number): { offset: number; producers: ProducerEntry[] } | undefined {
    for (;;) {
      const found = this.#offsets.findLast(each => each <= offset)
      if (found === undefined) return undefined
      const bytes = readWhole(this.#storage, this.#path(found))
      const producers = bytes && decodeSnapshot(bytes, this.#crc32c)
      if (producers !== undefined) return { offset: found, producers }
      // One that is still being written is not there yet, and is not needed: reading on from an older one is as good.
      if (bytes !== undefined)
        this.#env.log('warn', 'a producer snapshot is broken and is not used', { path: this.#path(found) })
      this.#remove(each => each === found)
    }
  }

  /** Takes one at `offset`. Settles once it would survive a power cut. */
  write(offset: number, producers: Iterable<ProducerEntry>): Later<StorageFailure | undefined> {
    const path = this.#path(offset)
    if (!this.#offsets.includes(offset)) this.#offsets = [...this.#offsets, offset].sort((a, b) => a - b)
    return this.#storage.replace(path, encodeSnapshot(producers, this.#crc32c)).map(failure => {
      // It was removed while it was being written.
      if (!this.#offsets.includes(offset)) this.#storage.remove(path)
      return failure
    })
  }

  /** Removes those above `offset`, since what they say of is cut off. */
  truncateTo(offset: number): void {
    this.#remove(each => each > offset)
  }

  /** Removes all but those where a segment begins and the newest. */
  prune(baseOffsets: readonly number[]): void {
    const kept = new Set([...baseOffsets, ...this.#offsets.slice(-NEWEST_KEPT)])
    const first = baseOffsets[0] ?? 0
    this.#remove(each => each < first || !kept.has(each))
  }

  clear(): void {
    this.#remove(() => true)
  }

  #remove(isToGo: (offset: number) => boolean): void {
    const gone = this.#offsets.filter(isToGo)
    if (gone.length === 0) return
    this.#offsets = this.#offsets.filter(offset => !gone.includes(offset))
    for (const offset of gone) this.#storage.remove(this.#path(offset))
  }

  #path(offset: number): string {
    return `${this.#directory}/${fileName(offset, SNAPSHOT_SUFFIX)}`
  }
}
