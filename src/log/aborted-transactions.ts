/**
 * The aborted transactions of one log, by which a read_committed consumer knows what to skip (Kafka's `TransactionIndex`
 * and `AbortedTxn`). Kept in memory and rebuilt from the markers in the log.
 */

/** What a Fetch answer says of one aborted transaction. */
export interface AbortedTransaction {
  producerId: number
  firstOffset: number
}

export interface AbortedTransactionEntry extends AbortedTransaction {
  /** The offset of its ABORT marker. */
  lastOffset: number
  /** The last stable offset once this transaction had ended: no transaction behind it can begin before it. */
  lastStableOffset: number
}

export class AbortedTransactions {
  /** In the order of their markers. */
  #entries: AbortedTransactionEntry[] = []

  get entries(): readonly AbortedTransactionEntry[] {
    return this.#entries
  }

  append(entry: AbortedTransactionEntry): void {
    this.#entries.push(entry)
  }

  /** Those that have data in `[fromOffset, upToOffset)`, ordered by their first offset. */
  collect(fromOffset: number, upToOffset: number): AbortedTransaction[] {
    const found: AbortedTransaction[] = []
    for (const entry of this.#entries) {
      if (entry.lastOffset >= fromOffset && entry.firstOffset < upToOffset) {
        found.push({ producerId: entry.producerId, firstOffset: entry.firstOffset })
      }
      if (entry.lastStableOffset >= upToOffset) break
    }
    return found.sort((a, b) => a.firstOffset - b.firstOffset)
  }

  truncateFromEnd(endOffset: number): void {
    this.#entries = this.#entries.filter(entry => entry.lastOffset < endOffset)
  }

  truncateFromStart(startOffset: number): void {
    this.#entries = this.#entries.filter(entry => entry.lastOffset >= startOffset)
  }

  clear(): void {
    this.#entries = []
  }
}
