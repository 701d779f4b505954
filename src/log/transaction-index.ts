/**
 * The aborted transactions whose markers lie in one segment, by which a read_committed consumer knows what to skip. Its bytes are
 * those of Kafka's `.txnindex` file (`TransactionIndex`, `AbortedTxn`): a version, the producer id, the first offset, the offset
 * of the marker, and the last stable offset once the transaction had ended.
 */

import { int16At, int64At, setInt16At, setInt64At } from '../records/fields.ts'
import { EntryBytes } from './entry-bytes.ts'

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

export const TRANSACTION_ENTRY_BYTES = 34
const VERSION = 0
const PRODUCER_ID = 2
const FIRST_OFFSET = 10
const LAST_OFFSET = 18
const LAST_STABLE_OFFSET = 26

/** In the order of their markers. */
export class TransactionIndex {
  readonly entries: EntryBytes

  /** @param bytes the content of a file */
  constructor(bytes?: Uint8Array) {
    this.entries = new EntryBytes(TRANSACTION_ENTRY_BYTES, bytes)
  }

  /** Whether every entry is one of the only version there is. */
  get isSane(): boolean {
    const { bytes, count } = this.entries
    for (let index = 0; index < count; index++) {
      if (int16At(bytes, index * TRANSACTION_ENTRY_BYTES + VERSION) !== 0) return false
    }
    return true
  }

  /** Adds a transaction; one whose marker is not behind the last known marker is known already. */
  append(entry: AbortedTransactionEntry): void {
    const { entries } = this
    if (entries.count > 0 && this.at(entries.count - 1).lastOffset >= entry.lastOffset) return
    const at = entries.add()
    setInt16At(entries.bytes, at + VERSION, 0)
    setInt64At(entries.bytes, at + PRODUCER_ID, entry.producerId)
    setInt64At(entries.bytes, at + FIRST_OFFSET, entry.firstOffset)
    setInt64At(entries.bytes, at + LAST_OFFSET, entry.lastOffset)
    setInt64At(entries.bytes, at + LAST_STABLE_OFFSET, entry.lastStableOffset)
  }

  at(index: number): AbortedTransactionEntry {
    const { bytes } = this.entries
    const at = index * TRANSACTION_ENTRY_BYTES
    return {
      producerId: int64At(bytes, at + PRODUCER_ID),
      firstOffset: int64At(bytes, at + FIRST_OFFSET),
      lastOffset: int64At(bytes, at + LAST_OFFSET),
      lastStableOffset: int64At(bytes, at + LAST_STABLE_OFFSET),
    }
  }

  all(): AbortedTransactionEntry[] {
    return Array.from({ length: this.entries.count }, (_, index) => this.at(index))
  }

  /**
   * Adds those that have data in `[fromOffset, upToOffset)` to `found`. Returns true when none that is noted later can have:
   * the next segments need not be asked.
   */
  collect(fromOffset: number, upToOffset: number, found: AbortedTransaction[]): boolean {
    for (let index = 0; index < this.entries.count; index++) {
      const { producerId, firstOffset, lastOffset, lastStableOffset } = this.at(index)
      if (lastOffset >= fromOffset && firstOffset < upToOffset) found.push({ producerId, firstOffset })
      if (lastStableOffset >= upToOffset) return true
    }
    return false
  }

  /** Drops those whose markers lie at or behind `offset`. */
  truncateTo(offset: number): void {
    this.entries.cut(this.entries.floorInt64(LAST_OFFSET, offset - 1) + 1)
  }
}
