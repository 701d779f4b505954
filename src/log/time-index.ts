/**
 * The sparse index from timestamps to offsets in a segment: an entry (t, o) says that the batch which ends with `o` is the
 * first with a record of time `t` or later. Record times need not grow, so its entries are those of the maximum so far, and
 * the last one is the maximum of all. Its bytes are those of Kafka's `.timeindex` file (`TimeIndex`): eight for the time, four
 * for the offset counted from the base offset.
 */

import { int32At, int64At, setInt32At, setInt64At } from '../records/fields.ts'
import { EntryBytes } from './entry-bytes.ts'

export const TIME_ENTRY_BYTES = 12
const TIMESTAMP = 0
const OFFSET = 8

export class TimeIndex {
  readonly #baseOffset: number
  readonly entries: EntryBytes

  /** @param bytes the content of a file, or its end */
  constructor(baseOffset: number, bytes?: Uint8Array) {
    this.#baseOffset = baseOffset
    this.entries = new EntryBytes(TIME_ENTRY_BYTES, bytes)
  }

  /** Notes that the batch which ends with `offset` is the first that reaches `timestamp`. Nothing is noted when that is not new. */
  append(timestamp: number, offset: number): void {
    const { entries } = this
    if (entries.count > 0 && this.timestampAt(entries.count - 1) >= timestamp) return
    const at = entries.add()
    setInt64At(entries.bytes, at + TIMESTAMP, timestamp)
    setInt32At(entries.bytes, at + OFFSET, offset - this.#baseOffset)
  }

  timestampAt(index: number): number {
    return int64At(this.entries.bytes, index * TIME_ENTRY_BYTES + TIMESTAMP)
  }

  offsetAt(index: number): number {
    return this.#baseOffset + int32At(this.entries.bytes, index * TIME_ENTRY_BYTES + OFFSET)
  }

  /** The last offset of a batch before which nothing is as late as `timestamp`; −1 for the begin of the segment. */
  offsetFor(timestamp: number): number {
    const index = this.entries.floorInt64(TIMESTAMP, timestamp)
    return index < 0 ? -1 : this.offsetAt(index)
  }

  /** Drops the entries about batches that end at or behind `offset`. */
  truncateTo(offset: number): void {
    this.entries.cut(this.entries.floorInt32(OFFSET, offset - 1 - this.#baseOffset) + 1)
  }
}
