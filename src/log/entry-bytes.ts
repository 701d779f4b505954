/**
 * Entries of one size in a byte array that grows: what an index is in memory and, byte for byte, in its file. Searching
 * happens on the bytes, so that loading an index is reading its file and nothing else.
 */

import { int32At, int64At } from '../records/fields.ts'

const NOTHING = new Uint8Array(0)
const FIRST_ENTRIES = 8

export class EntryBytes {
  readonly entrySize: number
  /** May be longer than what is used; another array after {@link add}. */
  bytes: Uint8Array
  count: number

  /** @param bytes the entries to begin with; a part of an entry at the end is left out */
  constructor(entrySize: number, bytes: Uint8Array = NOTHING) {
    this.entrySize = entrySize
    this.bytes = bytes
    this.count = Math.floor(bytes.length / entrySize)
  }

  /** Makes room for one more entry; returns where it is to be written in {@link bytes}. */
  add(): number {
    const { entrySize, count } = this
    const at = count * entrySize
    if (at + entrySize > this.bytes.length) {
      const bigger = new Uint8Array(Math.max(FIRST_ENTRIES, count * 2) * entrySize)
      bigger.set(this.bytes.subarray(0, at))
      this.bytes = bigger
    }
    this.count = count + 1
    return at
  }

  /** Keeps the first `count` entries. */
  cut(count: number): void {
    if (count < this.count) this.count = count
  }

  /** A view of the entries from `start` on. */
  from(start: number): Uint8Array {
    return this.bytes.subarray(start * this.entrySize, this.count * this.entrySize)
  }

  /** The index of the last entry whose int32 at `field` is at most `value`, or −1. They only grow. */
  floorInt32(field: number, value: number): number {
    let low = -1
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (int32At(this.bytes, middle * this.entrySize + field) <= value) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The same for an int64. */
  floorInt64(field: number, value: number): number {
    let low = -1
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (int64At(this.bytes, middle * this.entrySize + field) <= value) low = middle
      else high = middle - 1
    }
    return low
  }
}
