/**
 * The 61-byte header of a record batch v2, read and rewritten in place at fixed positions (KIP-98; Kafka's
 * `DefaultRecordBatch` and `ByteBufferLogInputStream`). Splitting bytes into batches and checking their checksum are here
 * as well. It does not look at records; v0 and v1 message sets are recognised by their magic and refused.
 */

import type { Crc32c } from './crc32c.ts'
import { int8At, int16At, int32At, int64At, saturate, setInt16At, setInt32At, setInt64At } from './fields.ts'
import { RecordsError } from './records-error.ts'

/** Bytes before the records of a batch. */
export const BATCH_OVERHEAD = 61
/** Bytes of base offset and length, which the length field does not count. */
const LOG_OVERHEAD = 12
/** The only format that is read and written. */
export const MAGIC_V2 = 2

/** Positions of the fields, counted from the begin of the batch. */
const LENGTH = 8
const PARTITION_LEADER_EPOCH = 12
const MAGIC = 16
const CRC = 17
const ATTRIBUTES = 21
const LAST_OFFSET_DELTA = 23
const BASE_TIMESTAMP = 27
const MAX_TIMESTAMP = 35
const PRODUCER_ID = 43
const PRODUCER_EPOCH = 51
const BASE_SEQUENCE = 53
const RECORDS_COUNT = 57

/** The bits of the attributes field. */
export const CODEC_MASK = 0x07
export const LOG_APPEND_TIME_BIT = 0x08
export const TRANSACTIONAL_BIT = 0x10
export const CONTROL_BIT = 0x20
export const DELETE_HORIZON_BIT = 0x40

/** The smallest length field that any format has: that of an empty v0 message. */
const MIN_LENGTH = 14
/** Bytes up to and with magic, which stands at the same place in every format. */
const HEADER_UP_TO_MAGIC = 17
const MAX_INT32 = 0x7fffffff

export type TimestampType = 'CreateTime' | 'LogAppendTime'

/** Every field of a batch header, and what follows from them. Offsets, ids and timestamps beyond ±2^53 are saturated. */
export interface BatchHeader {
  baseOffset: number
  /** The whole batch in bytes: the length field and the 12 bytes before what it counts. */
  sizeInBytes: number
  partitionLeaderEpoch: number
  magic: number
  /** As stored, unsigned. */
  crc: number
  attributes: number
  lastOffsetDelta: number
  /** In milliseconds; the delete horizon if {@link hasDeleteHorizon}. */
  baseTimestamp: number
  /** In milliseconds; the log append time if {@link timestampType} says so. */
  maxTimestamp: number
  producerId: number
  producerEpoch: number
  baseSequence: number
  recordsCount: number
  lastOffset: number
  /** 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 mean nothing. */
  codec: number
  timestampType: TimestampType
  isTransactional: boolean
  isControl: boolean
  hasDeleteHorizon: boolean
  /** −1 when the batch has no sequence. */
  lastSequence: number
}

/**
 * Reads the header of the batch that begins at `at`.
 *
 * @throws {RecordsError} INVALID_RECORD for magic 0 and 1, CORRUPT_MESSAGE for any other magic but 2 and for a batch
 * that is cut off or shorter than a header.
 */
export function readBatchHeader(bytes: Uint8Array, at = 0): BatchHeader {
  checkHeader(bytes, at)
  const attributes = batchAttributes(bytes, at)
  const baseOffset = batchBaseOffset(bytes, at)
  const lastOffsetDelta = batchLastOffsetDelta(bytes, at)
  const baseSequence = batchBaseSequence(bytes, at)
  return {
    baseOffset,
    sizeInBytes: batchSize(bytes, at),
    partitionLeaderEpoch: batchPartitionLeaderEpoch(bytes, at),
    magic: batchMagic(bytes, at),
    crc: batchCrc(bytes, at),
    attributes,
    lastOffsetDelta,
    baseTimestamp: batchBaseTimestamp(bytes, at),
    maxTimestamp: batchMaxTimestamp(bytes, at),
    producerId: batchProducerId(bytes, at),
    producerEpoch: batchProducerEpoch(bytes, at),
    baseSequence,
    recordsCount: batchRecordsCount(bytes, at),
    lastOffset: saturate(baseOffset + lastOffsetDelta),
    codec: attributes & CODEC_MASK,
    timestampType: attributes & LOG_APPEND_TIME_BIT ? 'LogAppendTime' : 'CreateTime',
    isTransactional: (attributes & TRANSACTIONAL_BIT) !== 0,
    isControl: (attributes & CONTROL_BIT) !== 0,
    hasDeleteHorizon: (attributes & DELETE_HORIZON_BIT) !== 0,
    lastSequence: addSequence(baseSequence, lastOffsetDelta),
  }
}

/** Demands a whole batch v2 at `at`, as {@link readBatchHeader} says; looks at no checksum. */
function checkHeader(bytes: Uint8Array, at: number): void {
  if (bytes.length - at < HEADER_UP_TO_MAGIC) throw new RecordsError('CORRUPT_MESSAGE', 'batch is cut off')
  const magic = batchMagic(bytes, at)
  if (magic === 0 || magic === 1) {
    throw new RecordsError('INVALID_RECORD', `message format v${magic} is not supported, only v2`)
  }
  if (magic !== MAGIC_V2) throw new RecordsError('CORRUPT_MESSAGE', `invalid magic ${magic}`)
  const size = batchSize(bytes, at)
  if (size < BATCH_OVERHEAD) {
    throw new RecordsError('CORRUPT_MESSAGE', `batch of ${size} bytes is shorter than its header (${BATCH_OVERHEAD})`)
  }
  if (size > bytes.length - at) {
    throw new RecordsError('CORRUPT_MESSAGE', `batch of ${size} bytes is cut off after ${bytes.length - at}`)
  }
}

/**
 * Demands a whole batch v2 at `at` whose checksum is right.
 *
 * @throws {RecordsError} as {@link readBatchHeader} does, and CORRUPT_MESSAGE for a wrong checksum.
 */
export function checkBatch(bytes: Uint8Array, at: number, crc32c: Crc32c): void {
  checkHeader(bytes, at)
  const computed = crc32c(bytes, at + ATTRIBUTES, at + batchSize(bytes, at))
  const stored = batchCrc(bytes, at)
  if (computed !== stored) {
    throw new RecordsError('CORRUPT_MESSAGE', `batch is corrupt: stored crc ${stored}, computed ${computed}`)
  }
}

/** `sequence + increment`, which goes on at 0 after 2^31 − 1; −1 (no sequence) stays −1. */
export function addSequence(sequence: number, increment: number): number {
  if (sequence < 0) return -1
  return sequence > MAX_INT32 - increment ? increment - (MAX_INT32 - sequence) - 1 : sequence + increment
}

// Single fields, for places that need one or two of them and no object.

export function batchBaseOffset(bytes: Uint8Array, at: number): number {
  return int64At(bytes, at)
}

/** The whole batch in bytes, as its length field claims. */
export function batchSize(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at + LENGTH) + LOG_OVERHEAD
}

export function batchPartitionLeaderEpoch(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at + PARTITION_LEADER_EPOCH)
}

export function batchMagic(bytes: Uint8Array, at: number): number {
  return int8At(bytes, at + MAGIC)
}

export function batchCrc(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at + CRC) >>> 0
}

export function batchAttributes(bytes: Uint8Array, at: number): number {
  return int16At(bytes, at + ATTRIBUTES)
}

function batchLastOffsetDelta(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at + LAST_OFFSET_DELTA)
}

export function batchLastOffset(bytes: Uint8Array, at: number): number {
  return saturate(int64At(bytes, at) + int32At(bytes, at + LAST_OFFSET_DELTA))
}

function batchBaseTimestamp(bytes: Uint8Array, at: number): number {
  return int64At(bytes, at + BASE_TIMESTAMP)
}

export function batchMaxTimestamp(bytes: Uint8Array, at: number): number {
  return int64At(bytes, at + MAX_TIMESTAMP)
}

function batchProducerId(bytes: Uint8Array, at: number): number {
  return int64At(bytes, at + PRODUCER_ID)
}

function batchProducerEpoch(bytes: Uint8Array, at: number): number {
  return int16At(bytes, at + PRODUCER_EPOCH)
}

function batchBaseSequence(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at + BASE_SEQUENCE)
}

function batchRecordsCount(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at + RECORDS_COUNT)
}

// Writers in place. Base offset and leader epoch lie outside the checksum; after any other, call `refreshCrc`.

/** Outside the checksum. */
export function setBaseOffset(bytes: Uint8Array, at: number, offset: number): void {
  setInt64At(bytes, at, offset)
}

export function setBatchSize(bytes: Uint8Array, at: number, size: number): void {
  setInt32At(bytes, at + LENGTH, size - LOG_OVERHEAD)
}

/** Outside the checksum. */
export function setPartitionLeaderEpoch(bytes: Uint8Array, at: number, epoch: number): void {
  setInt32At(bytes, at + PARTITION_LEADER_EPOCH, epoch)
}

export function setMagic(bytes: Uint8Array, at: number, magic: number): void {
  bytes[at + MAGIC] = magic
}

export function setAttributes(bytes: Uint8Array, at: number, attributes: number): void {
  setInt16At(bytes, at + ATTRIBUTES, attributes)
}

export function setTimestampType(bytes: Uint8Array, at: number, type: TimestampType): void {
  const attributes = batchAttributes(bytes, at)
  setAttributes(
    bytes,
    at,
    type === 'LogAppendTime' ? attributes | LOG_APPEND_TIME_BIT : attributes & ~LOG_APPEND_TIME_BIT,
  )
}

export function setLastOffsetDelta(bytes: Uint8Array, at: number, delta: number): void {
  setInt32At(bytes, at + LAST_OFFSET_DELTA, delta)
}

export function setBaseTimestamp(bytes: Uint8Array, at: number, timestamp: number): void {
  setInt64At(bytes, at + BASE_TIMESTAMP, timestamp)
}

export function setMaxTimestamp(bytes: Uint8Array, at: number, timestamp: number): void {
  setInt64At(bytes, at + MAX_TIMESTAMP, timestamp)
}

/** Producer id and epoch, and the sequence of the first record. */
export function setProducer(bytes: Uint8Array, at: number, id: number, epoch: number, baseSequence: number): void {
  setInt64At(bytes, at + PRODUCER_ID, id)
  setInt16At(bytes, at + PRODUCER_EPOCH, epoch)
  setInt32At(bytes, at + BASE_SEQUENCE, baseSequence)
}

export function setRecordsCount(bytes: Uint8Array, at: number, count: number): void {
  setInt32At(bytes, at + RECORDS_COUNT, count)
}

/** Computes the checksum of the batch at `at` again and stores it. */
export function refreshCrc(bytes: Uint8Array, at: number, crc32c: Crc32c): void {
  setInt32At(bytes, at + CRC, crc32c(bytes, at + ATTRIBUTES, at + batchSize(bytes, at)))
}

/**
 * The size of the batch that begins at `at` if all of it lies before `end`, else 0: what remains is a partial batch, as
 * Fetch leaves one, or nothing. Any format.
 *
 * @throws {RecordsError} CORRUPT_MESSAGE for a length that no batch has, and for an unknown magic; UNKNOWN_SERVER_ERROR,
 * as in Kafka, for a length within 12 bytes of 2^31.
 */
export function nextBatchSize(bytes: Uint8Array, at: number, end: number): number {
  if (end - at < LOG_OVERHEAD) return 0
  const length = int32At(bytes, at + LENGTH)
  if (length < MIN_LENGTH) {
    throw new RecordsError('CORRUPT_MESSAGE', `record size ${length} is less than the minimum (${MIN_LENGTH})`)
  }
  if (end - at < HEADER_UP_TO_MAGIC) return 0
  const magic = batchMagic(bytes, at)
  if (magic < 0 || magic > MAGIC_V2) throw new RecordsError('CORRUPT_MESSAGE', `invalid magic ${magic}`)
  const size = length + LOG_OVERHEAD
  // Kafka's own sum overflows here, and the client is told so.
  if (size > MAX_INT32) throw new RecordsError('UNKNOWN_SERVER_ERROR', `record size ${length} is beyond all limits`)
  return size <= end - at ? size : 0
}

/**
 * Calls `visit` with position and size of every whole batch of `bytes[start, end)`, in order, and ignores a partial one
 * behind them. Returns the position behind the last whole batch. Formats v0 and v1 are visited too: see
 * {@link batchMagic}.
 *
 * @throws {RecordsError} as {@link nextBatchSize} does; batches before that have been visited.
 *
 * @example
 * eachBatch(records, at => { last = batchLastOffset(records, at) })
 */
export function eachBatch(
  bytes: Uint8Array,
  visit: (at: number, size: number) => void,
  start = 0,
  end = bytes.length,
): number {
  let at = start
  for (let size = nextBatchSize(bytes, at, end); size > 0; size = nextBatchSize(bytes, at, end)) {
    visit(at, size)
    at += size
  }
  return at
}
