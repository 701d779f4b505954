/**
 * What cleaning makes of the bytes of one batch: the same, a smaller batch, a header without records, or nothing (Kafka's
 * `MemoryRecords.filterTo`). A batch keeps its base offset, its last offset and its sequence numbers, so that offsets and
 * idempotent producers go on as if nothing had gone; what is inside is written anew with the same codec.
 */

import type { BatchFate } from '../../core/compaction.ts'
import { varlongSize } from '../../records/batch-builder.ts'
import {
  BATCH_OVERHEAD,
  type BatchHeader,
  CODEC_MASK,
  DELETE_HORIZON_BIT,
  refreshCrc,
  setAttributes,
  setBaseTimestamp,
  setBatchSize,
  setMaxTimestamp,
  setRecordsCount,
} from '../../records/batch-header.ts'
import { recordCursor } from '../../records/batch-reader.ts'
import { type CodecName, codecName, type RecordsPlatform } from '../../records/compression.ts'
import { RecordCursor } from '../../records/record-cursor.ts'
import { ByteReader } from '../../util/byte-reader.ts'
import { ByteWriter, concat } from '../../util/byte-writer.ts'
import type { Steps } from './cleaning.ts'

export interface FilterOptions {
  platform: RecordsPlatform
  /** Whether the record at the cursor stays; asked of data only. */
  keeps: (cursor: RecordCursor, batch: BatchHeader) => boolean
  /** The horizon that a batch gets which holds tombstones, or is a marker without data, and has none yet; in milliseconds. */
  newHorizonMs: number
}

/** After so many records there is a pause. */
export const RECORDS_PER_STEP = 256

/**
 * Returns the bytes to write: the batch as it is, another, or undefined when nothing of it stays. It pauses now and again in a
 * batch of many records.
 */
export function* filterBatch(
  bytes: Uint8Array,
  batch: BatchHeader,
  fate: BatchFate,
  isObsoleteMarker: boolean,
  options: FilterOptions,
): Steps<Uint8Array | undefined> {
  const empty = () => (fate.keepsEmpty ? emptyBatch(bytes, batch, options.platform) : undefined)
  if (fate.records === 'drop') return empty()
  const cursor = recordCursor(bytes, 0, options.platform)
  const { kept, count, hasTombstone } = yield* scan(cursor, batch, options)
  if (count === 0) return empty()
  const isNewHorizon = (hasTombstone || isObsoleteMarker) && !batch.hasDeleteHorizon
  if (count === kept.length && !isNewHorizon) return bytes
  const horizon = isNewHorizon ? options.newHorizonMs : batch.hasDeleteHorizon ? batch.baseTimestamp : undefined
  return yield* rebuilt(bytes, batch, { payload: cursor.bytes, kept, count }, horizon, options.platform)
}

/** Which records stay, and whether one of them has no value. */
function* scan(
  cursor: RecordCursor,
  batch: BatchHeader,
  { keeps }: FilterOptions,
): Steps<{ kept: boolean[]; count: number; hasTombstone: boolean }> {
  const kept: boolean[] = []
  let count = 0
  let hasTombstone = false
  while (cursor.next()) {
    const stays = batch.isControl || keeps(cursor, batch)
    kept.push(stays)
    if (stays) count++
    if (stays && cursor.valueLength < 0) hasTombstone = true
    if (kept.length % RECORDS_PER_STEP === 0) yield { bytes: 0, records: RECORDS_PER_STEP }
  }
  yield { bytes: 0, records: kept.length % RECORDS_PER_STEP }
  return { kept, count, hasTombstone }
}

/** The header alone: it says of its producer what there is to know. */
function emptyBatch(bytes: Uint8Array, batch: BatchHeader, platform: RecordsPlatform): Uint8Array {
  if (batch.recordsCount <= 0) return bytes
  const empty = bytes.slice(0, BATCH_OVERHEAD)
  setBatchSize(empty, 0, BATCH_OVERHEAD)
  setAttributes(empty, 0, batch.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT))
  setBaseTimestamp(empty, 0, -1)
  setRecordsCount(empty, 0, 0)
  refreshCrc(empty, 0, platform.crc32c)
  return empty
}

/** The records of a batch as they came out of the codec, and which of them stay. */
interface Scanned {
  /** The batch itself when it is not compressed. */
  payload: Uint8Array
  kept: readonly boolean[]
  count: number
}

function* rebuilt(
  bytes: Uint8Array,
  batch: BatchHeader,
  { payload, kept, count }: Scanned,
  horizonMs: number | undefined,
  platform: RecordsPlatform,
): Steps<Uint8Array> {
  const codec = codecName(batch.codec) as CodecName
  const start = codec === 'none' ? BATCH_OVERHEAD : 0
  const end = codec === 'none' ? batch.sizeInBytes : payload.length
  const cursor = new RecordCursor(payload, start, end, batch.recordsCount)
  const writer = new ByteWriter(bytes.length)
  const isAppendTime = batch.timestampType === 'LogAppendTime'
  let baseTimestamp = horizonMs
  let maxTimestamp = -1
  for (const [index, keeps] of kept.entries()) {
    cursor.next()
    if (index % RECORDS_PER_STEP === RECORDS_PER_STEP - 1) yield { bytes: 0, records: RECORDS_PER_STEP }
    if (!keeps) continue
    const timestamp = isAppendTime ? batch.maxTimestamp : batch.baseTimestamp + cursor.timestampDelta
    baseTimestamp ??= timestamp
    if (timestamp > maxTimestamp) maxTimestamp = timestamp
    writeRecord(writer, cursor, timestamp - baseTimestamp)
  }
  const records = writer.finish()
  const stored = codec === 'none' ? records : platform.compression.compress(codec, records)
  const result = concat([bytes.subarray(0, BATCH_OVERHEAD), stored])
  setBatchSize(result, 0, result.length)
  if (horizonMs !== undefined) setAttributes(result, 0, batch.attributes | DELETE_HORIZON_BIT)
  setBaseTimestamp(result, 0, baseTimestamp as number)
  if (!isAppendTime) setMaxTimestamp(result, 0, maxTimestamp)
  setRecordsCount(result, 0, count)
  refreshCrc(result, 0, platform.crc32c)
  return result
}

/** Key, value and headers are taken over as bytes; what counts from the begin of the batch is written anew. */
function writeRecord(writer: ByteWriter, cursor: RecordCursor, timestampDelta: number): void {
  const { bytes } = cursor
  const reader = new ByteReader(bytes, cursor.start)
  const length = reader.varint()
  const end = reader.position + length
  reader.skip(1)
  reader.varlong()
  reader.varint()
  const rest = bytes.subarray(reader.position, end)
  writer.varint(1 + varlongSize(timestampDelta) + varlongSize(cursor.offsetDelta) + rest.length)
  writer.int8(0)
  writer.varlong(timestampDelta)
  writer.varint(cursor.offsetDelta)
  writer.bytes(rest)
}
