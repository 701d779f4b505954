/**
 * Walks the records inside one batch's payload without making an object for any of them: the broker checks every record
 * that it stores, and most of the time wants no more than offsets, timestamps and whether there is a key. What counts as
 * broken, and as which error, follows Kafka's `DefaultRecord.readFrom` and `DefaultRecordBatch.iterator`.
 */

import { ByteError, ByteReader } from '../util/byte-reader.ts'
import { RecordsError } from './records-error.ts'

/**
 * A cursor over `count` records in `bytes[start, end)`, uncompressed. After {@link next} has returned true the fields
 * describe that record; key, value and headers are given by position. A record is checked whole before it is shown.
 *
 * @example
 * const cursor = new RecordCursor(bytes, start, end, count)
 * while (cursor.next()) if (cursor.keyLength < 0) throw new RecordsError('INVALID_RECORD', 'a key is needed')
 */
export class RecordCursor {
  readonly bytes: Uint8Array
  /** Position of the record's length field. */
  start = 0
  /** Position behind the record. */
  end = 0
  /** In milliseconds, relative to the batch's base timestamp. */
  timestampDelta = 0
  offsetDelta = 0
  keyStart = 0
  /** −1 for null. */
  keyLength = -1
  valueStart = 0
  /** −1 for null. */
  valueLength = -1
  headersCount = 0
  /** Position of the first header. */
  headersStart = 0
  #reader: ByteReader
  #left: number

  /** @throws {RecordsError} INVALID_RECORD when `count` is negative. */
  constructor(bytes: Uint8Array, start: number, end: number, count: number) {
    if (count < 0) throw new RecordsError('INVALID_RECORD', `found invalid record count ${count}`)
    this.bytes = bytes
    this.#reader = new ByteReader(bytes, start, end)
    this.#left = count
  }

  /**
   * Moves to the next record; false behind the last. A batch that declares no record has none, whatever its payload is.
   *
   * @throws {RecordsError} INVALID_RECORD for a broken record, for fewer records than the batch declares, and for bytes
   * behind the last (in its stead); UNKNOWN_SERVER_ERROR for a record length of over five bytes, because Kafka fails so.
   */
  next(): boolean {
    const reader = this.#reader
    if (this.#left === 0) return false
    if (reader.remaining === 0) throw new RecordsError('INVALID_RECORD', `${this.#left} declared records are missing`)
    this.start = reader.position
    const length = this.#readLength(reader)
    const bodyStart = reader.position
    if (length > reader.remaining) {
      throw new RecordsError('INVALID_RECORD', `record of ${length} bytes, but only ${reader.remaining} remain`)
    }
    try {
      this.#readBody(reader)
    } catch (error) {
      if (error instanceof ByteError) throw new RecordsError('INVALID_RECORD', `broken record: ${error.message}`)
      throw error
    }
    if (reader.position - bodyStart !== length) {
      throw new RecordsError('INVALID_RECORD', `record of ${length} bytes took ${reader.position - bodyStart}`)
    }
    this.end = reader.position
    this.#left--
    if (this.#left === 0 && reader.remaining > 0) {
      throw new RecordsError('INVALID_RECORD', 'bytes remain behind the last declared record')
    }
    return true
  }

  #readLength(reader: ByteReader): number {
    const available = reader.remaining
    try {
      return reader.varint()
    } catch (error) {
      if (!(error instanceof ByteError)) throw error
      // Five bytes were there to read: the length is too long. Else the payload ends within it.
      throw new RecordsError(available >= 5 ? 'UNKNOWN_SERVER_ERROR' : 'INVALID_RECORD', 'broken record length')
    }
  }

  #readBody(reader: ByteReader): void {
    // Attributes of a record are unused, and Kafka ignores what stands there.
    reader.skip(1)
    this.timestampDelta = reader.varlong()
    this.offsetDelta = reader.varint()
    this.keyLength = Math.max(reader.varint(), -1)
    this.keyStart = this.keyLength > 0 ? reader.skip(this.keyLength) : reader.position
    this.valueLength = Math.max(reader.varint(), -1)
    this.valueStart = this.valueLength > 0 ? reader.skip(this.valueLength) : reader.position
    const count = (this.headersCount = reader.varint())
    this.headersStart = reader.position
    if (count === 0) return
    if (count < 0 || count > reader.remaining) {
      throw new RecordsError('INVALID_RECORD', `found invalid number of record headers ${count}`)
    }
    for (let index = 0; index < count; index++) {
      const keyLength = reader.varint()
      if (keyLength < 0) throw new RecordsError('INVALID_RECORD', `invalid negative header key size ${keyLength}`)
      reader.skip(keyLength)
      const valueLength = reader.varint()
      if (valueLength > 0) reader.skip(valueLength)
    }
  }
}
