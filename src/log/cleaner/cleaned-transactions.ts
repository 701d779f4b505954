/**
 * What the cleaner knows of transactions as it goes through a log: whether the data it meets was aborted, and whether a marker still
 * has data before it (Kafka's `CleanedTransactionMetadata`). It goes forward only; one is made for each passage.
 */

import type { BatchHeader } from '../../records/batch-header.ts'
import type { EndTransactionMarker } from '../../records/control.ts'
import type { AbortedTransactionEntry } from '../transaction-index.ts'

export class CleanedTransactions {
  /** Those that were not come to yet, the last first. */
  readonly #ahead: AbortedTransactionEntry[]
  /** By producer: the aborted transaction that the passage is in, and whether data of it was met. */
  readonly #aborted = new Map<number, { entry: AbortedTransactionEntry; hasData: boolean }>()
  /** Producers of whose present transaction, which is not aborted, data was met. */
  readonly #committed = new Set<number>()
  /**
   * Told of each aborted transaction whose marker is met and that still had data: readers have to know of it. Of the others nobody
   * has to.
   */
  onAborted: (entry: AbortedTransactionEntry) => void = () => {}

  /** @param aborted the aborted transactions with data in the part that is gone through */
  constructor(aborted: readonly AbortedTransactionEntry[]) {
    this.#ahead = [...aborted].sort((a, b) => b.firstOffset - a.firstOffset)
  }

  /** Takes in a batch of data; true when it was aborted, and can go. */
  onData(batch: BatchHeader): boolean {
    this.#advance(batch.lastOffset)
    if (!batch.isTransactional) return false
    const aborted = this.#aborted.get(batch.producerId)
    if (aborted === undefined) {
      this.#committed.add(batch.producerId)
      return false
    }
    aborted.hasData = true
    return true
  }

  /**
   * Takes in a control batch; true when the transaction that it ends has no data, so that it can go as well.
   *
   * @param marker undefined for a control batch that is empty or holds another record than a transaction marker
   */
  onControl(batch: BatchHeader, marker: EndTransactionMarker | undefined): boolean {
    this.#advance(batch.lastOffset)
    if (marker === undefined) return batch.recordsCount <= 0
    if (marker.type === 'COMMIT') return !this.#committed.delete(batch.producerId)
    const aborted = this.#aborted.get(batch.producerId)
    this.#aborted.delete(batch.producerId)
    if (!aborted?.hasData) return true
    this.onAborted(aborted.entry)
    return false
  }

  #advance(offset: number): void {
    for (let next = this.#ahead.at(-1); next !== undefined && next.firstOffset <= offset; next = this.#ahead.at(-1)) {
      this.#ahead.pop()
      if (!this.#aborted.has(next.producerId)) this.#aborted.set(next.producerId, { entry: next, hasData: false })
    }
  }
}
