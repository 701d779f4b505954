/**
 * The sparse index from timestamps to offsets in a segment: an entry (t, o) says that no batch before `o` has a record
 * of time `t` or later (Kafka's `TimeIndex`). Record times need not grow, so its entries are those of the maximum so far.
 */

import { floorIndex } from './offset-index.ts'

export class TimeIndex {
  readonly #timestamps: number[] = []
  readonly #offsets: number[] = []

  get entries(): number {
    return this.#timestamps.length
  }

  /** Notes that the batch at `offset` is the first that reaches `timestamp`. Nothing is noted when that is not new. */
  append(timestamp: number, offset: number): void {
    const last = this.#timestamps.length - 1
    if (last >= 0 && this.#timestamps[last] >= timestamp) return
    this.#timestamps.push(timestamp)
    this.#offsets.push(offset)
  }

  /** An offset before which nothing is as late as `timestamp`; −1 for the begin of the segment. */
  offsetFor(timestamp: number): number {
    const index = floorIndex(this.#timestamps, timestamp)
    return index < 0 ? -1 : this.#offsets[index]
  }

  clear(): void {
    this.#timestamps.length = 0
    this.#offsets.length = 0
  }
}
