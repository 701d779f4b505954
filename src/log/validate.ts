/**
 * What a leader demands of the batches that it is to append, as values: a verdict says that a batch is accepted, and what
 * was learned from its records, or why it is refused. Nothing is changed here. Rules, their order and the messages that
 * reach clients are those of Kafka's `ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords` and
 * `LogValidator`.
 */

import type { ErrorName } from '../protocol/errors.ts'
import {
  BATCH_OVERHEAD,
  type BatchHeader,
  batchAttributes,
  batchCrc,
  batchMagic,
  CODEC_MASK,
  checkBatch,
  MAGIC_V2,
  nextBatchSize,
  readBatchHeader,
} from '../records/batch-header.ts'
import { recordCursor } from '../records/batch-reader.ts'
import { type CodecName, codecName, codecNumber, type RecordsPlatform } from '../records/compression.ts'
import { saturate } from '../records/fields.ts'
import type { RecordCursor } from '../records/record-cursor.ts'
import type { RecordError } from './append-error.ts'
import { type LogConfig, UNLIMITED } from './log-config.ts'
import type { AppendOrigin } from './producer-state.ts'

/** Why an append is refused. */
export interface Refusal {
  error: ErrorName
  message: string
  /** The single records that were refused, where it was for them. */
  recordErrors?: RecordError[]
}

/** A batch that may be appended. */
export interface AcceptedBatch {
  /** As it was sent. */
  header: BatchHeader
  at: number
  /** The largest record time, or −1. */
  maxTimestamp: number
  /** The codec to store it with; the batch is built anew where that is not its own. */
  codec: CodecName
  error?: undefined
}

/** Told apart by `error`. */
export type Verdict = AcceptedBatch | Refusal

/** What validation needs to know. */
export interface ValidationRules {
  readonly config: LogConfig
  readonly platform: RecordsPlatform
  readonly origin: AppendOrigin
  readonly now: number
  /** For messages: `topic-partition`. */
  readonly topicPartition: string
}

const ZSTD = codecNumber('zstd')

/**
 * What a Produce request has for one partition must be exactly one batch v2. Returns the refusal, or undefined.
 *
 * @param version of the Produce request
 * @throws {RecordsError} CORRUPT_MESSAGE for bytes that cannot be split into batches
 */
export function refuseProduceRecords(records: Uint8Array, version: number): Refusal | undefined {
  const size = nextBatchSize(records, 0, records.length)
  if (size === 0)
    return invalid(`Produce requests with version ${version} must have at least one record batch per partition`)
  if (batchMagic(records, 0) !== MAGIC_V2) {
    return invalid(
      `Produce requests with version ${version} are only allowed to contain record batches with magic version 2`,
    )
  }
  if (version < 7 && (batchAttributes(records, 0) & CODEC_MASK) === ZSTD) {
    return {
      error: 'UNSUPPORTED_COMPRESSION_TYPE',
      message: `Produce requests with version ${version} are not allowed to use ZStandard compression`,
    }
  }
  if (nextBatchSize(records, size, records.length) > 0) {
    return invalid(
      `Produce requests with version ${version} are only allowed to contain exactly one record batch per partition`,
    )
  }
  return undefined
}

/**
 * Judges the batch of `size` bytes at `at`.
 *
 * @throws {RecordsError} for records that cannot be read
 */
export function validateBatch(records: Uint8Array, at: number, size: number, rules: ValidationRules): Verdict {
  const { config, origin, topicPartition } = rules
  if (size < BATCH_OVERHEAD) return corrupt(records, at, topicPartition)
  const header = readBatchHeader(records, at)
  const isClient = origin === 'client'
  if (isClient && header.baseOffset !== 0) {
    return invalid(
      `The baseOffset of the record batch in the append to ${topicPartition} should be 0, but it is ${header.baseOffset}`,
    )
  }
  if (size > config.maxMessageBytes) {
    return {
      error: 'MESSAGE_TOO_LARGE',
      message: `The record batch size in the append to ${topicPartition} is ${size} bytes which exceeds the maximum configured value of ${config.maxMessageBytes}).`,
    }
  }
  try {
    checkBatch(records, at, rules.platform.crc32c)
  } catch {
    return corrupt(records, at, topicPartition)
  }
  const refused = refuseOffsets(header, topicPartition) ?? (isClient ? refuseClient(header, topicPartition) : undefined)
  if (refused) return refused
  const codec = targetCodec(header, config)
  if (!config.validateRecords && codecName(header.codec) === codec) {
    return { header, at, maxTimestamp: header.maxTimestamp, codec }
  }
  return walkRecords(records, at, header, codec, rules)
}

/** The offsets of a batch run from 0 on, one for each record, of which there is one at least. */
function refuseOffsets(header: BatchHeader, topicPartition: string): Refusal | undefined {
  const { lastOffsetDelta, recordsCount } = header
  const range = `[0, ${lastOffsetDelta}]`
  if (lastOffsetDelta < 0) {
    return invalid(`Batch has an invalid offset range: ${range} in topic partition ${topicPartition}`)
  }
  if (recordsCount <= 0) {
    return invalid(`Invalid reported count for record batch: ${recordsCount} in topic partition ${topicPartition}`)
  }
  if (lastOffsetDelta + 1 !== recordsCount) {
    return invalid(
      `Inconsistent batch offset range ${range} and count of records ${recordsCount} in topic partition ${topicPartition}`,
    )
  }
  return undefined
}

/** What only clients must heed: no control batch, and a sequence with a producer id. */
function refuseClient(header: BatchHeader, topicPartition: string): Refusal | undefined {
  const { producerId, baseSequence } = header
  if (header.isControl) {
    return invalid(`Clients are not allowed to write control records in topic partition ${topicPartition}`)
  }
  if (producerId > -1 && baseSequence < 0) {
    return invalid(
      `Invalid sequence number ${baseSequence} in record batch with producerId ${producerId} in topic partition ${topicPartition}`,
    )
  }
  return undefined
}

/** The topic may want another codec than the producer took. Control batches stay uncompressed. */
function targetCodec(header: BatchHeader, config: LogConfig): CodecName {
  const source = codecName(header.codec)
  const wanted = config.compressionType
  if (source === undefined || wanted === 'producer') return source ?? 'none'
  if (source === 'none' && header.isControl) return source
  return wanted === 'uncompressed' ? 'none' : wanted
}

function walkRecords(
  records: Uint8Array,
  at: number,
  header: BatchHeader,
  codec: CodecName,
  rules: ValidationRules,
): Verdict {
  const { config } = rules
  const cursor = recordCursor(records, at, rules.platform, config.maxDecompressedBytes)
  const isCompressed = header.codec !== 0
  const hasLogAppendTime = header.timestampType === 'LogAppendTime'
  const setsTime = config.messageTimestampType === 'LogAppendTime'
  let maxTimestamp = -1
  let recordErrors: (RecordError & { error: ErrorName })[] | undefined
  let isOrdered = true
  for (let index = 0; cursor.next(); index++) {
    const timestamp = hasLogAppendTime ? header.maxTimestamp : saturate(header.baseTimestamp + cursor.timestampDelta)
    let problem: { error: ErrorName; message: string } | undefined
    if (config.compact && cursor.keyLength < 0) {
      problem = invalid(`Compacted topic cannot accept message without key in topic partition ${rules.topicPartition}`)
    } else if (!setsTime && timestamp !== -1) {
      if (isOutOfRange(timestamp, rules)) problem = timestampOutOfRange(header, cursor, timestamp, rules)
    } else if (hasLogAppendTime) problem = timestampTypeSet(header, cursor, timestamp)
    if (problem) {
      recordErrors ??= []
      recordErrors.push({ batchIndex: index, ...problem })
    }
    if (timestamp > maxTimestamp) maxTimestamp = timestamp
    if (isCompressed && cursor.offsetDelta !== index) isOrdered = false
  }
  if (recordErrors) return refuseRecords(recordErrors)
  // Kafka leaves its in-place path here and fails inside: the answer is the same. Uncompressed ones it does not look at.
  if (!isOrdered) {
    return { error: 'UNKNOWN_SERVER_ERROR', message: 'offset deltas of a compressed batch are not 0, 1, 2, …' }
  }
  return { header, at, maxTimestamp, codec }
}

function isOutOfRange(timestamp: number, rules: ValidationRules): boolean {
  const { messageTimestampBeforeMaxMs, messageTimestampAfterMaxMs } = rules.config
  const age = rules.now - timestamp
  return (
    (messageTimestampBeforeMaxMs < UNLIMITED && age > messageTimestampBeforeMaxMs) ||
    (messageTimestampAfterMaxMs < UNLIMITED && -age > messageTimestampAfterMaxMs)
  )
}

function timestampOutOfRange(header: BatchHeader, cursor: RecordCursor, timestamp: number, rules: ValidationRules) {
  const { messageTimestampBeforeMaxMs, messageTimestampAfterMaxMs } = rules.config
  const earliest = BigInt(rules.now) - javaLong(messageTimestampBeforeMaxMs)
  const latest = BigInt.asIntN(64, BigInt(rules.now) + javaLong(messageTimestampAfterMaxMs))
  return {
    error: 'INVALID_TIMESTAMP' as const,
    message: `Timestamp ${timestamp} of message with offset ${header.baseOffset + cursor.offsetDelta} is out of range. The timestamp should be within [${earliest}, ${latest}]`,
  }
}

function javaLong(value: number): bigint {
  return value >= UNLIMITED ? 0x7fffffffffffffffn : BigInt(value)
}

function timestampTypeSet(header: BatchHeader, cursor: RecordCursor, timestamp: number) {
  // Kafka's own words, which show which of its two classes held the record, and null as 0 or −1.
  const name = header.codec === 0 ? 'DefaultRecord' : 'PartialDefaultRecord'
  const length = (of: number) => (of < 0 && header.codec === 0 ? 0 : of)
  const { keyLength, valueLength, offsetDelta } = cursor
  const record = `${name}(offset=${header.baseOffset + offsetDelta}, timestamp=${timestamp}, key=${length(keyLength)} bytes, value=${length(valueLength)} bytes)`
  return {
    error: 'INVALID_TIMESTAMP' as const,
    message: `Invalid timestamp type in message ${record}. Producer should not set timestamp type to LogAppendTime.`,
  }
}

function refuseRecords(errors: (RecordError & { error: ErrorName })[]): Refusal {
  const recordErrors = errors.map(({ batchIndex, message }) => ({ batchIndex, message }))
  if (errors.some(({ error }) => error === 'INVALID_TIMESTAMP')) {
    return {
      error: 'INVALID_TIMESTAMP',
      message: 'One or more records have been rejected due to invalid timestamp',
      recordErrors,
    }
  }
  const shown = recordErrors
    .slice(0, 3)
    .map(({ batchIndex, message }) => `RecordError(batchIndex=${batchIndex}, message='${message}')`)
  return {
    error: 'INVALID_RECORD',
    message: `One or more records have been rejected due to ${errors.length} record errors in total, and only showing the first three errors at most: [${shown.join(', ')}]`,
    recordErrors,
  }
}

function invalid(message: string): Refusal {
  return { error: 'INVALID_RECORD', message }
}

function corrupt(records: Uint8Array, at: number, topicPartition: string): Refusal {
  const crc = records.length - at < BATCH_OVERHEAD ? '' : ` (stored crc = ${batchCrc(records, at)})`
  return { error: 'CORRUPT_MESSAGE', message: `Record is corrupt${crc} in topic partition ${topicPartition}.` }
}
