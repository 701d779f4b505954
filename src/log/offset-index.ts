/**
 * The sparse index from offsets to positions in a segment's file: one entry per `index.interval.bytes`, so that a reader
 * scans no more than that. Its bytes are those of Kafka's `.index` file (`OffsetIndex`): of each entry four for the last
 * offset of a batch, counted from the base offset, and four for the position of that batch.
 */

import { int32At, setInt32At } from '../records/fields.ts'
import { EntryBytes } from './entry-bytes.ts'

export const OFFSET_ENTRY_BYTES = 8
const OFFSET = 0
const POSITION = 4

export class OffsetIndex {
  readonly #baseOffset: number
  readonly entries: EntryBytes

  /** @param bytes the content of a file */
  constructor(baseOffset: number, bytes?: Uint8Array) {
    this.#baseOffset = baseOffset
    this.entries = new EntryBytes(OFFSET_ENTRY_BYTES, bytes)
  }

  /** Notes that the batch at `position` ends with `lastOffset`. Both only grow. */
  append(lastOffset: number, position: number): void {
    const { entries } = this
    const at = entries.add()
    setInt32At(entries.bytes, at + OFFSET, lastOffset - this.#baseOffset)
    setInt32At(entries.bytes, at + POSITION, position)
  }

  /** The last offset of the batch that the entry at `index` is about. */
  offsetAt(index: number): number {
    return this.#baseOffset + int32At(this.entries.bytes, index * OFFSET_ENTRY_BYTES + OFFSET)
  }

  positionAt(index: number): number {
    return int32At(this.entries.bytes, index * OFFSET_ENTRY_BYTES + POSITION)
  }

  /** Where to begin to look for `offset`: a batch that ends at or before it, or the first. */
  positionFor(offset: number): number {
    const index = this.entries.floorInt32(OFFSET, offset - this.#baseOffset)
    return index < 0 ? 0 : this.positionAt(index)
  }

  /** The position of the last known batch that begins at or before `position`. */
  floorPosition(position: number): number {
    const index = this.entries.floorInt32(POSITION, position)
    return index < 0 ? 0 : this.positionAt(index)
  }

  /** Drops the entries of batches that end at or behind `offset`. */
  truncateTo(offset: number): void {
    this.entries.cut(this.entries.floorInt32(OFFSET, offset - 1 - this.#baseOffset) + 1)
  }
}
