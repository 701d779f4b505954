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
  eachBatch,
  LOG_APPEND_TIME_BIT,
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
import type { ProducerBatch, ProducerStates } from './producer-state.ts'
import { markerOf } from './recovery.ts'
import { type AcceptedBatch, refuseProduceRecords, validateBatch } from './validate.ts'

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
  batches: PreparedBatch[]
  lastOffset: number
  maxTimestamp: number
}

/** What the log knows that an append depends on. */
export interface AppendContext {
  config: LogConfig
  platform: RecordsPlatform
  producers: ProducerStates
  logEndOffset: number
  topicPartition: string
}

/**
 * Demands of the bytes that a Produce request has for one partition that they are exactly one batch.
 *
 * @throws {ProduceRecordsError}
 */
export function checkProduceRecords(records: Uint8Array, produceVersion: number): void {
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
  const { origin } = options
  if (origin === 'client') checkProduceRecords(records, options.produceVersion ?? NEWEST_PRODUCE)
  const accepted = acceptAll(records, options, context)
  const markers = accepted.map(({ header, at }) => markerOf(records, at, header, context.platform))
  const rules = { origin, transactionVersion: options.transactionVersion ?? 0 }
  for (const [index, { header }] of accepted.entries()) {
    if (header.producerId < 0) continue
    const duplicate = origin === 'client' ? context.producers.duplicateOf(header) : undefined
    if (duplicate) return { duplicate }
    const marker = markers[index]
    if (marker) context.producers.checkMarker(header, marker, rules)
    else if (!header.isControl) context.producers.checkData(header, rules)
  }
  return assignOffsets(records, accepted, markers, options, context)
}

function acceptAll(records: Uint8Array, options: LeaderAppendOptions, context: AppendContext): AcceptedBatch[] {
  const rules = { ...context, origin: options.origin, now: options.now }
  const accepted: AcceptedBatch[] = []
  eachBatch(records, (at, size) => {
    // A client's bytes hold one batch, and maybe a few bytes behind it that nobody looks at.
    const verdict = validateBatch(records, at, size, rules)
    if ('accepted' in verdict) return accepted.push(verdict.accepted)
    const { error, message, recordErrors } = verdict.refused
    throw recordErrors ? new RecordsInvalidError(error, message, recordErrors) : new KafkaError(error, message)
  })
  if (accepted.length === 0) throw new KafkaError('INVALID_RECORD', 'there is no record batch to append')
  return accepted
}

function assignOffsets(
  records: Uint8Array,
  accepted: AcceptedBatch[],
  markers: (EndTransactionMarker | undefined)[],
  options: LeaderAppendOptions,
  context: AppendContext,
): PreparedAppend {
  const parts: Uint8Array[] = []
  const batches: PreparedBatch[] = []
  let offset = context.logEndOffset
  let at = 0
  let maxTimestamp = -1
  for (const [index, batch] of accepted.entries()) {
    const isKept = codecName(batch.header.codec) === batch.codec
    const bytes = isKept
      ? records.subarray(batch.at, batch.at + batch.header.sizeInBytes)
      : rebuild(records, batch, options.now, context)
    const header = isKept ? batch.header : readBatchHeader(bytes, 0)
    patch(bytes, header, isKept ? batch.maxTimestamp : header.maxTimestamp, offset, options, context)
    if (header.maxTimestamp > maxTimestamp) maxTimestamp = header.maxTimestamp
    parts.push(bytes)
    batches.push({ header, at, marker: markers[index] })
    at += bytes.length
    offset = header.lastOffset + 1
  }
  const bytes = parts.length === 1 ? parts[0] : concat(parts)
  if (bytes.length > context.config.segmentBytes) {
    throw new KafkaError(
      'RECORD_LIST_TOO_LARGE',
      `Message batch size is ${bytes.length} bytes in append to partition ${context.topicPartition}, which exceeds the maximum configured segment size of ${context.config.segmentBytes}.`,
    )
  }
  return { records: bytes, batches, lastOffset: offset - 1, maxTimestamp }
}

/** Writes what is the leader's to say into a batch, and into its header as it was read. */
function patch(
  bytes: Uint8Array,
  header: BatchHeader,
  maxTimestamp: number,
  offset: number,
  options: LeaderAppendOptions,
  context: AppendContext,
): void {
  const type = context.config.messageTimestampType
  const time = type === 'LogAppendTime' ? options.now : maxTimestamp
  header.baseOffset = offset
  header.lastOffset = offset + header.lastOffsetDelta
  header.partitionLeaderEpoch = options.leaderEpoch
  setBaseOffset(bytes, 0, offset)
  setPartitionLeaderEpoch(bytes, 0, options.leaderEpoch)
  if (header.timestampType === type && header.maxTimestamp === time) return
  header.timestampType = type
  header.maxTimestamp = time
  header.attributes &= KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_BIT
  if (type === 'LogAppendTime') header.attributes |= LOG_APPEND_TIME_BIT
  setAttributes(bytes, 0, header.attributes)
  setMaxTimestamp(bytes, 0, time)
  refreshCrc(bytes, 0, context.platform.crc32c)
}

/** The same records in a batch with the codec that the topic wants. */
function rebuild(records: Uint8Array, batch: AcceptedBatch, now: number, context: AppendContext): Uint8Array {
  const { config, platform } = context
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
    logAppendTime: now,
  })
  if (bytes.length <= config.maxMessageBytes) return bytes
  throw new KafkaError(
    'MESSAGE_TOO_LARGE',
    `Message batch size is ${bytes.length} bytes in append to partition ${context.topicPartition} which exceeds the maximum configured size of ${config.maxMessageBytes}.`,
  )
}
