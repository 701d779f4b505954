/**
 * Takes over records from one batch into another: as they are, neighbours in one piece, or with another distance from the base
 * timestamp. Key, value and headers never change, and neither does the distance from the base offset, which the batch keeps.
 */

import { varlongSize } from '../../records/batch-builder.ts'
import type { RecordCursor } from '../../records/record-cursor.ts'
import { ByteReader } from '../../util/byte-reader.ts'
import type { ByteWriter } from '../../util/byte-writer.ts'

export class RecordWriter {
  readonly #writer: ByteWriter
  readonly #bytes: Uint8Array
  readonly #reader: ByteReader
  /** Records that are to be copied as they are. */
  #start = 0
  #end = 0

  /** @param bytes what the cursors go over */
  constructor(writer: ByteWriter, bytes: Uint8Array) {
    this.#writer = writer
    this.#bytes = bytes
    this.#reader = new ByteReader(bytes)
  }

  /** Takes the record at the cursor. */
  write(cursor: RecordCursor, timestampDelta: number): void {
    const { start, end } = cursor
    if (timestampDelta !== cursor.timestampDelta) {
      this.end()
      return this.#rewrite(cursor, timestampDelta)
    }
    if (start !== this.#end) {
      this.end()
      this.#start = start
    }
    this.#end = end
  }

  /** Writes what was taken. */
  end(): void {
    if (this.#end > this.#start) this.#writer.bytes(this.#bytes.subarray(this.#start, this.#end))
    this.#start = this.#end
  }

  #rewrite({ start, end, offsetDelta }: RecordCursor, timestampDelta: number): void {
    const reader = this.#reader
    reader.position = start
    reader.varint()
    reader.skip(1)
    reader.varlong()
    reader.varint()
    const rest = this.#bytes.subarray(reader.position, end)
    const writer = this.#writer
    writer.varint(1 + varlongSize(timestampDelta) + varlongSize(offsetDelta) + rest.length)
    writer.int8(0)
    writer.varlong(timestampDelta)
    writer.varint(offsetDelta)
    writer.bytes(rest)
  }
}
