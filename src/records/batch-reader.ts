/**
 * Reads the records of a batch v2, decompressing them where they are compressed (Kafka's `DefaultRecordBatch`). It
 * neither checks the batch's checksum, which `checkBatch` does, nor what a broker demands beyond readability: offsets in
 * order, keys in compacted topics, timestamps near now.
 */

import { ByteReader } from '../util/byte-reader.ts'
import type { RecordHeader } from './batch-builder.ts'
import { addSequence, BATCH_OVERHEAD, type BatchHeader, readBatchHeader } from './batch-header.ts'
import { codecName, type RecordsPlatform } from './compression.ts'
import { saturate } from './fields.ts'
import { RecordCursor } from './record-cursor.ts'
import { RecordsError } from './records-error.ts'

/** How many bytes the records of one batch may take when they are decompressed, unless the caller says otherwise. */
export const DEFAULT_DECOMPRESSED_LIMIT = 128 * 1024 * 1024

/** One record as it was read. */
export interface RecordData {
  offset: number
  /** In milliseconds; the batch's maximum timestamp if the batch has log append time. */
  timestamp: number
  /** −1 when the batch has no sequence. */
  sequence: number
  key: Uint8Array | null
  value: Uint8Array | null
  headers: RecordHeader[]
}

/**
 * A cursor over the records of the batch at `at`: the way to look at records without making objects. Reads a
 * compressed batch by decompressing it whole.
 *
 * @param limit how many bytes may come out of decompressing at most
 * @throws {RecordsError} for a broken header, an unknown codec, and (as {@link CompressionError}) for a broken or too
 * large compressed payload.
 */
export function recordCursor(
  bytes: Uint8Array,
  at: number,
  platform: RecordsPlatform,
  limit = DEFAULT_DECOMPRESSED_LIMIT,
): RecordCursor {
  return cursorOf(readBatchHeader(bytes, at), bytes, at, platform, limit)
}

function cursorOf(header: BatchHeader, bytes: Uint8Array, at: number, platform: RecordsPlatform, limit: number) {
  const start = at + BATCH_OVERHEAD
  const end = at + header.sizeInBytes
  const codec = codecName(header.codec)
  if (codec === undefined) throw new RecordsError('UNKNOWN_SERVER_ERROR', `unknown compression type id ${header.codec}`)
  // A batch without records is not decompressed: Kafka does not look at its payload either.
  if (codec === 'none' || header.recordsCount <= 0) return new RecordCursor(bytes, start, end, header.recordsCount)
  const payload = platform.compression.decompress(codec, bytes.subarray(start, end), limit)
  return new RecordCursor(payload, 0, payload.length, header.recordsCount)
}

/**
 * Yields the records of the batch at `at`, in order.
 *
 * Keys, values and header values are views: into `bytes` when the batch is uncompressed, else into a buffer of their own.
 * Copy what is to live longer than `bytes` does.
 *
 * @param limit how many bytes may come out of decompressing at most
 * @throws {RecordsError} when the batch is broken; records before the broken one have been yielded.
 */
export function* eachRecord(
  bytes: Uint8Array,
  at: number,
  platform: RecordsPlatform,
  limit = DEFAULT_DECOMPRESSED_LIMIT,
): Generator<RecordData, void, void> {
  const header = readBatchHeader(bytes, at)
  const cursor = cursorOf(header, bytes, at, platform, limit)
  while (cursor.next()) yield recordAt(cursor, header)
}

/**
 * All records of the batch at `at`. See {@link eachRecord} for whose bytes keys and values are.
 *
 * @example
 * const [first] = readRecords(batch, 0, PURE_PLATFORM)
 * utf8Decode(first.value)
 */
export function readRecords(
  bytes: Uint8Array,
  at: number,
  platform: RecordsPlatform,
  limit = DEFAULT_DECOMPRESSED_LIMIT,
): RecordData[] {
  const header = readBatchHeader(bytes, at)
  const cursor = cursorOf(header, bytes, at, platform, limit)
  const records: RecordData[] = []
  while (cursor.next()) records.push(recordAt(cursor, header))
  return records
}

function recordAt(cursor: RecordCursor, header: BatchHeader): RecordData {
  const { bytes, offsetDelta } = cursor
  return {
    offset: saturate(header.baseOffset + offsetDelta),
    timestamp:
      header.timestampType === 'LogAppendTime'
        ? header.maxTimestamp
        : saturate(header.baseTimestamp + cursor.timestampDelta),
    sequence: addSequence(header.baseSequence, offsetDelta),
    key: cursor.keyLength < 0 ? null : bytes.subarray(cursor.keyStart, cursor.keyStart + cursor.keyLength),
    value: cursor.valueLength < 0 ? null : bytes.subarray(cursor.valueStart, cursor.valueStart + cursor.valueLength),
    headers: cursor.headersCount === 0 ? [] : readHeaders(cursor),
  }
}

/** The cursor has been through these bytes already, so they are well formed. */
function readHeaders(cursor: RecordCursor): RecordHeader[] {
  const reader = new ByteReader(cursor.bytes, cursor.headersStart)
  const headers: RecordHeader[] = []
  for (let index = 0; index < cursor.headersCount; index++) {
    const key = reader.utf8(reader.varint())
    const length = reader.varint()
    headers.push({ key, value: length < 0 ? null : reader.view(length) })
  }
  return headers
}
