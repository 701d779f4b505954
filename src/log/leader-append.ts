/**
 * What a leader does to batches before they go into its log: judges them, gives them offsets, its epoch and where needed
 * a time, and compresses them as the topic wants (Kafka's `LogValidator`). All in the given bytes where that is possible.
 */

import { KafkaError } from '../protocol/errors.ts'
import { buildBatch } from '../records/batch-builder.ts'
import {
  type BatchHeader,
  CODEC_MASK,
  CONTROL_BIT,
  DELETE_HORIZON_BIT,
  LOG_APPEND_TIME_BIT,
  nextBatchSize,
  readBatchHeader,
  refreshCrc,
  setAttributes,
  setBaseOffset,
  setMaxTimestamp,
  setPartitionLeaderEpoch,
  TRANSACTIONAL_BIT,
} from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import { codecName, type RecordsPlatform } from '../records/compression.ts'
import type { EndTransactionMarker } from '../records/control.ts'
import { RecordsError } from '../records/records-error.ts'
import { concat } from '../util/byte-writer.ts'
import { ProduceRecordsError, RecordsInvalidError } from './append-error.ts'
import type { LogConfig } from './log-config.ts'
import { markerOf } from './log-state.ts'
import type { ProducerBatch, ProducerStates } from './producer-state.ts'
import { type AcceptedBatch, type Refusal, refuseProduceRecords, validateBatch } from './validate.ts'

/** The newest version of Produce: what a client's batch is held to when the caller does not say. */
const NEWEST_PRODUCE = 13
const KNOWN_ATTRIBUTES = CODEC_MASK | LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT

export interface LeaderAppendOptions {
  leaderEpoch: number
  /** Milliseconds since 1970. */
  now: number
  origin: 'client' | 'coordinator'
  /** The version of the Produce request: below 7 there is no zstd. */
  produceVersion?: number
  /** 2 when the writer of a transactional batch or marker follows KIP-890; 0 by default. */
  transactionVersion?: number
}

/** One batch as it goes into the log. */
export interface PreparedBatch {
  header: BatchHeader
  at: number
  marker: EndTransactionMarker | undefined
}

/** Batches that may be written as they are, in one piece. */
export interface PreparedAppend {
  records: Uint8Array
  /** The bytes never change, so that memory may share them instead of copying. */
  immutable?: boolean
  batches: PreparedBatch[]
  lastOffset: number
  maxTimestamp: number
}

/** What the log knows that an append depends on. */
export interface AppendContext {
  readonly config: LogConfig
  readonly platform: RecordsPlatform
  readonly producers: ProducerStates
  readonly logEndOffset: number
  readonly topicPartition: string
}

/** That, and what this append was asked with: one object for all steps of the hot path, which spreading would slow down. */
class LeaderAppend implements AppendContext {
  readonly config: LogConfig
  readonly platform: RecordsPlatform
  readonly producers: ProducerStates
  readonly logEndOffset: number
  readonly topicPartition: string
  readonly leaderEpoch: number
  readonly now: number
  readonly origin: 'client' | 'coordinator'
  readonly produceVersion: number
  readonly transactionVersion: number

  constructor(context: AppendContext, options: LeaderAppendOptions) {
    this.config = context.config
    this.platform = context.platform
    this.producers = context.producers
    this.logEndOffset = context.logEndOffset
    this.topicPartition = context.topicPartition
    this.leaderEpoch = options.leaderEpoch
    this.now = options.now
    this.origin = options.origin
    this.produceVersion = options.produceVersion ?? NEWEST_PRODUCE
    this.transactionVersion = options.transactionVersion ?? 0
  }
}

/**
 * Demands of the bytes that a Produce request has for one partition that they are exactly one batch.
 *
 * @throws {ProduceRecordsError}
 */
function checkProduceRecords(records: Uint8Array, produceVersion: number): void {
  let refused: ReturnType<typeof refuseProduceRecords>
  try {
    refused = refuseProduceRecords(records, produceVersion)
  } catch (error) {
    if (error instanceof RecordsError) throw new ProduceRecordsError(error.error, error.message)
    throw error
  }
  if (refused) throw new ProduceRecordsError(refused.error, refused.message)
}

/**
 * Makes `records` ready to be written at the end of the log, or finds the batch that they repeat. Changes bytes only once
 * everything is accepted.
 *
 * @throws {KafkaError} when a batch is refused
 */
export function prepareLeaderAppend(
  records: Uint8Array,
  options: LeaderAppendOptions,
  context: AppendContext,
): PreparedAppend | { duplicate: ProducerBatch } {
  const append = new LeaderAppend(context, options)
  if (append.origin === 'client') checkProduceRecords(records, append.produceVersion)
  const accepted = acceptAll(records, append)
  // Too much is too much, even if it repeats a batch; of what is compressed anew the size is known only later.
  if (accepted.every(isKept))
    checkSize(
      accepted.reduce((sum, { header }) => sum + header.sizeInBytes, 0),
      append,
    )
  const markers: (EndTransactionMarker | undefined)[] = []
  for (const { header, at } of accepted) {
    const marker = markerOf(records, at, header, append.platform)
    const duplicate = checkProducer(header, marker, append)
    if (duplicate) return { duplicate }
    markers.push(marker)
  }
  return assignOffsets(records, accepted, markers, append)
}

function acceptAll(records: Uint8Array, append: LeaderAppend): AcceptedBatch[] {
  const accepted: AcceptedBatch[] = []
  const end = records.length
  // A client's bytes hold one batch, and maybe a few bytes behind it that nobody looks at.
  for (let at = 0, size: number; (size = nextBatchSize(records, at, end)) > 0; at += size) {
    const verdict = validateBatch(records, at, size, append)
    if (verdict.error !== undefined) throw refusalOf(verdict)
    accepted.push(verdict)
  }
  if (accepted.length === 0) throw new KafkaError('INVALID_RECORD', 'there is no record batch to append')
  return accepted
}

function refusalOf({ error, message, recordErrors }: Refusal): KafkaError {
  return recordErrors ? new RecordsInvalidError(error, message, recordErrors) : new KafkaError(error, message)
}

/** The batch that `header` repeats, or undefined if it may be appended. */
function checkProducer(
  header: BatchHeader,
  marker: EndTransactionMarker | undefined,
  append: LeaderAppend,
): ProducerBatch | undefined {
  const { producers, origin } = append
  if (header.producerId < 0) return undefined
  const duplicate = origin === 'client' ? producers.duplicateOf(header) : undefined
  if (duplicate) return duplicate
  if (marker) producers.checkMarker(header, marker, append)
  else if (!header.isControl) producers.checkData(header, append)
  return undefined
}

function assignOffsets(
  records: Uint8Array,
  accepted: AcceptedBatch[],
  markers: (EndTransactionMarker | undefined)[],
  append: LeaderAppend,
): PreparedAppend {
  const parts: Uint8Array[] = []
  const batches: PreparedBatch[] = []
  let offset = append.logEndOffset
  let at = 0
  let maxTimestamp = -1
  for (let index = 0; index < accepted.length; index++) {
    const batch = accepted[index]
    const kept = isKept(batch)
    const bytes = kept
      ? records.subarray(batch.at, batch.at + batch.header.sizeInBytes)
      : rebuild(records, batch, append)
    const header = kept ? batch.header : readBatchHeader(bytes, 0)
    patch(bytes, header, kept ? batch.maxTimestamp : header.maxTimestamp, offset, append)
    if (header.maxTimestamp > maxTimestamp) maxTimestamp = header.maxTimestamp
    parts.push(bytes)
    batches.push({ header, at, marker: markers[index] })
    at += bytes.length
    offset = header.lastOffset + 1
  }
  const bytes = parts.length === 1 ? parts[0] : concat(parts)
  checkSize(bytes.length, append)
  return { records: bytes, batches, lastOffset: offset - 1, maxTimestamp }
}

/** True when the batch stays compressed as it came. */
function isKept({ header, codec }: AcceptedBatch): boolean {
  return codecName(header.codec) === codec
}

function checkSize(size: number, { config, topicPartition }: LeaderAppend): void {
  if (size <= config.segmentBytes) return
  throw new KafkaError(
    'RECORD_LIST_TOO_LARGE',
    `Message batch size is ${size} bytes in append to partition ${topicPartition}, which exceeds the maximum configured segment size of ${config.segmentBytes}.`,
  )
}

/** Writes what is the leader's to say into a batch, and into its header as it was read. */
function patch(
  bytes: Uint8Array,
  header: BatchHeader,
  maxTimestamp: number,
  offset: number,
  append: LeaderAppend,
): void {
  const type = append.config.messageTimestampType
  const time = type === 'LogAppendTime' ? append.now : maxTimestamp
  header.baseOffset = offset
  header.lastOffset = offset + header.lastOffsetDelta
  header.partitionLeaderEpoch = append.leaderEpoch
  setBaseOffset(bytes, 0, offset)
  setPartitionLeaderEpoch(bytes, 0, append.leaderEpoch)
  if (header.timestampType === type && header.maxTimestamp === time) return
  header.timestampType = type
  header.maxTimestamp = time
  header.attributes &= KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_BIT
  if (type === 'LogAppendTime') header.attributes |= LOG_APPEND_TIME_BIT
  setAttributes(bytes, 0, header.attributes)
  setMaxTimestamp(bytes, 0, time)
  refreshCrc(bytes, 0, append.platform.crc32c)
}

/** The same records in a batch with the codec that the topic wants. */
function rebuild(records: Uint8Array, batch: AcceptedBatch, append: LeaderAppend): Uint8Array {
  const { config, platform } = append
  const { header } = batch
  const bytes = buildBatch({
    records: readRecords(records, batch.at, platform, config.maxDecompressedBytes),
    codec: batch.codec,
    compression: platform.compression,
    crc32c: platform.crc32c,
    producerId: header.producerId,
    producerEpoch: header.producerEpoch,
    baseSequence: header.baseSequence,
    isTransactional: header.isTransactional,
    isControl: header.isControl,
    timestampType: config.messageTimestampType,
    logAppendTime: append.now,
  })
  if (bytes.length <= config.maxMessageBytes) return bytes
  throw new KafkaError(
    'MESSAGE_TOO_LARGE',
    `Message batch size is ${bytes.length} bytes in append to partition ${append.topicPartition} which exceeds the maximum configured size of ${config.maxMessageBytes}.`,
  )
}
