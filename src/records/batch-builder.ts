/**
 * Builds a record batch v2 from records, byte for byte as Kafka's `MemoryRecordsBuilder` does when nothing is compressed:
 * the base timestamp is that of the first record, the maximum that of the newest, and all numbers take their shortest
 * form. It does not judge what it is asked to build: tests need batches that no broker would take.
 */

import { assert } from '../util/assert.ts'
import { ByteWriter, concat } from '../util/byte-writer.ts'
import { utf8Length } from '../util/utf8.ts'
import {
  BATCH_OVERHEAD,
  CODEC_MASK,
  CONTROL_BIT,
  DELETE_HORIZON_BIT,
  LOG_APPEND_TIME_BIT,
  MAGIC_V2,
  refreshCrc,
  setAttributes,
  setBaseOffset,
  setBaseTimestamp,
  setBatchSize,
  setLastOffsetDelta,
  setMagic,
  setMaxTimestamp,
  setPartitionLeaderEpoch,
  setProducer,
  setRecordsCount,
  type TimestampType,
  TRANSACTIONAL_BIT,
} from './batch-header.ts'
import { type CodecName, type Compression, codecNumber, NO_COMPRESSION } from './compression.ts'
import { type Crc32c, crc32cJs } from './crc32c.ts'

/** A header of a record; keys may repeat. */
export interface RecordHeader {
  key: string
  value: Uint8Array | null
}

/** One record to be put into a batch. */
export interface RecordInput {
  /** Null, also by default, for no key. */
  key?: Uint8Array | null
  /** Null, also by default, for a tombstone. */
  value?: Uint8Array | null
  /** In milliseconds; −1, the default, means none. */
  timestamp?: number
  headers?: readonly RecordHeader[]
  /** The record's place in the batch by default. */
  offsetDelta?: number
}

/** What {@link buildBatch} builds a batch from. */
export interface BatchInput {
  records: readonly RecordInput[]
  /** `none` by default. Any other needs {@link compression}. */
  codec?: CodecName
  compression?: Compression
  /** Plain JavaScript by default. */
  crc32c?: Crc32c
  /** 0 by default: what producers send. */
  baseOffset?: number
  /** −1 by default: not known yet. */
  partitionLeaderEpoch?: number
  /** −1 by default: none. */
  producerId?: number
  /** −1 by default: none. */
  producerEpoch?: number
  /** −1 by default: none. */
  baseSequence?: number
  isTransactional?: boolean
  isControl?: boolean
  /** `CreateTime` by default. */
  timestampType?: TimestampType
  /** The maximum timestamp of a batch with `LogAppendTime`, in milliseconds; −1 by default. */
  logAppendTime?: number
  /** When tombstones and markers may go, in milliseconds (KIP-534): stored as base timestamp. */
  deleteHorizonMs?: number
  /** That of the last record by default; compaction keeps that of the batch it came from. */
  lastOffsetDelta?: number
}

/**
 * Builds one batch.
 *
 * @throws {CompressionError} when the codec is not there.
 *
 * @example
 * buildBatch({ records: [{ key: utf8Encode('a'), value: utf8Encode('1'), timestamp: 1700000000000 }] })
 */
export function buildBatch(input: BatchInput): Uint8Array {
  const { records, codec = 'none' } = input
  const baseTimestamp = input.deleteHorizonMs ?? records[0]?.timestamp ?? -1
  const writer = new ByteWriter(estimatedSize(records))
  if (codec === 'none') writer.bytes(EMPTY_HEADER)
  for (let index = 0; index < records.length; index++) writeRecord(writer, records[index], index, baseTimestamp)
  const written = writer.finish()
  const batch =
    codec === 'none' ? written : concat([EMPTY_HEADER, (input.compression ?? NO_COMPRESSION).compress(codec, written)])
  writeHeader(batch, input, codec, baseTimestamp)
  return batch
}

const EMPTY_HEADER = new Uint8Array(BATCH_OVERHEAD)

function writeHeader(batch: Uint8Array, input: BatchInput, codec: CodecName, baseTimestamp: number): void {
  const { records, producerId = -1, producerEpoch = -1, baseSequence = -1 } = input
  const last = records.length - 1
  const attributes =
    (codecNumber(codec) & CODEC_MASK) |
    (input.timestampType === 'LogAppendTime' ? LOG_APPEND_TIME_BIT : 0) |
    (input.isTransactional ? TRANSACTIONAL_BIT : 0) |
    (input.isControl ? CONTROL_BIT : 0) |
    (input.deleteHorizonMs === undefined ? 0 : DELETE_HORIZON_BIT)
  setBaseOffset(batch, 0, input.baseOffset ?? 0)
  setBatchSize(batch, 0, batch.length)
  setPartitionLeaderEpoch(batch, 0, input.partitionLeaderEpoch ?? -1)
  setMagic(batch, 0, MAGIC_V2)
  setAttributes(batch, 0, attributes)
  setLastOffsetDelta(batch, 0, input.lastOffsetDelta ?? records[last]?.offsetDelta ?? last)
  setBaseTimestamp(batch, 0, baseTimestamp)
  setMaxTimestamp(batch, 0, maxTimestamp(input))
  setProducer(batch, 0, producerId, producerEpoch, baseSequence)
  setRecordsCount(batch, 0, records.length)
  refreshCrc(batch, 0, input.crc32c ?? crc32cJs)
}

function maxTimestamp(input: BatchInput): number {
  if (input.timestampType === 'LogAppendTime') return input.logAppendTime ?? -1
  let newest = -1
  for (const { timestamp = -1 } of input.records) if (timestamp > newest) newest = timestamp
  return newest
}

function writeRecord(writer: ByteWriter, record: RecordInput, index: number, baseTimestamp: number): void {
  const { key = null, value = null, headers = [] } = record
  const timestampDelta = (record.timestamp ?? -1) - baseTimestamp
  const offsetDelta = record.offsetDelta ?? index
  writer.varint(recordBodySize(record, timestampDelta, offsetDelta))
  writer.int8(0)
  writer.varlong(timestampDelta)
  writer.varint(offsetDelta)
  writeBytes(writer, key)
  writeBytes(writer, value)
  writer.varint(headers.length)
  for (const header of headers) {
    const length = utf8Length(header.key)
    writer.varint(length)
    writer.utf8(header.key, length)
    writeBytes(writer, header.value)
  }
}

function writeBytes(writer: ByteWriter, bytes: Uint8Array | null): void {
  if (bytes === null) return writer.varint(-1)
  writer.varint(bytes.length)
  writer.bytes(bytes)
}

function recordBodySize(record: RecordInput, timestampDelta: number, offsetDelta: number): number {
  const { key = null, value = null, headers = [] } = record
  let size = 1 + varlongSize(timestampDelta) + varlongSize(offsetDelta) + bytesSize(key) + bytesSize(value)
  size += varlongSize(headers.length)
  for (const header of headers) {
    const length = utf8Length(header.key)
    size += varlongSize(length) + length + bytesSize(header.value)
  }
  return size
}

function bytesSize(bytes: Uint8Array | null): number {
  return bytes === null ? 1 : varlongSize(bytes.length) + bytes.length
}

/** Bytes of `value` in zig-zag base 128: seven bits each, one of which holds the sign. */
export function varlongSize(value: number): number {
  assert(Number.isSafeInteger(value), `not an integer that a record can hold: ${value}`)
  let magnitude = value < 0 ? -value - 1 : value
  let size = 1
  for (; magnitude >= 64; magnitude = Math.floor(magnitude / 128)) size++
  return size
}

/** Room enough for most batches, so that the writer need not grow. */
function estimatedSize(records: readonly RecordInput[]): number {
  let size = BATCH_OVERHEAD
  for (const { key, value } of records) size += 24 + (key?.length ?? 0) + (value?.length ?? 0)
  return size
}
