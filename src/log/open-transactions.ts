/**
 * The transactions that hold back the last stable offset: those without a marker yet, and those whose marker is not
 * below the high watermark yet, since a marker that may still be lost decides nothing (the two maps of Kafka's
 * `ProducerStateManager`).
 */

import type { CompletedTransaction } from './producer-state.ts'

export class OpenTransactions {
  /** First offset to producer id. Transactions begin in the order of their offsets, so the first is the oldest. */
  readonly #ongoing = new Map<number, number>()
  /** First offset to the offset of the marker, in the order of the markers. */
  readonly #unreplicated = new Map<number, number>()

  begin(producerId: number, firstOffset: number): void {
    this.#ongoing.set(firstOffset, producerId)
  }

  /** What the last stable offset will be once `completed` is replicated. */
  lastStableOffsetAfter(completed: CompletedTransaction): number {
    for (const firstOffset of this.#ongoing.keys()) if (firstOffset !== completed.firstOffset) return firstOffset
    return completed.lastOffset + 1
  }

  complete(completed: CompletedTransaction): void {
    this.#ongoing.delete(completed.firstOffset)
    this.#unreplicated.set(completed.firstOffset, completed.lastOffset)
  }

  /** Lets go of those whose marker lies below `offset`. */
  replicatedUpTo(offset: number): void {
    for (const [firstOffset, lastOffset] of this.#unreplicated) {
      if (lastOffset < offset) this.#unreplicated.delete(firstOffset)
    }
  }

  /** The first offset of the oldest of them, or undefined. */
  get firstUnstableOffset(): number | undefined {
    const [oldest] = this.#ongoing.keys()
    let first = oldest
    for (const firstOffset of this.#unreplicated.keys()) {
      if (first === undefined || firstOffset < first) first = firstOffset
    }
    return first
  }

  get isEmpty(): boolean {
    return this.#ongoing.size === 0 && this.#unreplicated.size === 0
  }

  clear(): void {
    this.#ongoing.clear()
    this.#unreplicated.clear()
  }
}
