import { nodeCompression } from '../../src/node/codecs.ts'
import { decodeControlRecordKey, decodeEndTxnMarker } from '../../src/protocol/embedded/control-records.ts'
import { batchCrc, batchMagic, eachBatch, readBatchHeader } from '../../src/records/batch-header.ts'
import { type RecordData, readRecords } from '../../src/records/batch-reader.ts'
import { type CodecName, codecName, codecNumber } from '../../src/records/compression.ts'
import { crc32cJs } from '../../src/records/crc32c.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { parseBytes, showText } from './bytes.ts'
import { has, isObject, type Json, type JsonObject, textOf } from './json.ts'
import type { Names } from './names.ts'
import { numberOf } from './request.ts'

/**
 * Record batches v2 from and to what scenarios write. Built by hand and not by `src/records`, so that every field of the
 * header can be wrong on purpose.
 */

const HEADER = 61
const LENGTH_END = 12
const ATTRIBUTES = 21
const PLATFORM = { crc32c: crc32cJs, compression: nodeCompression }

/** The bytes of a `records` field; null for null. */
export function encodeRecords(given: Json, names: Names): Uint8Array | null {
  const value = names.resolve(given)
  if (value === null) return null
  if (typeof value === 'string') return value === '' ? new Uint8Array(0) : parseBytes(value, names)
  if (has(value, 'batches')) return concat((value.batches as Json[]).map(each => encodeBatch(each, names)))
  return encodeBatch(value, names)
}

function encodeBatch(given: Json, names: Names): Uint8Array {
  const batch: JsonObject = Array.isArray(given) ? { records: given } : (given as JsonObject)
  const records = batch.records as Json[]
  const number = (name: string, otherwise: number) =>
    batch[name] === undefined ? otherwise : numberOf(batch[name], names)
  const times = records.map((record, index) =>
    has(record, 'timestamp') ? numberOf(record.timestamp, names) : names.now + index,
  )
  const baseTimestamp = number('baseTimestamp', times[0] ?? names.now)
  const codec = (batch.codec ?? 'none') as CodecName
  let payload = concat(records.map((record, index) => encodeRecord(record, index, times[index] - baseTimestamp, names)))
  if (codec !== 'none') payload = nodeCompression.compress(codec, payload)
  if (batch.garbage !== undefined) payload = parseBytes(batch.garbage, names) as Uint8Array

  const size = HEADER + payload.length
  const bytes = new Uint8Array(size)
  bytes.set(payload, HEADER)
  const view = new DataView(bytes.buffer)
  const int64 = (at: number, value: number) => view.setBigInt64(at, BigInt(value))
  const flags = (batch.logAppendTime ? 8 : 0) + (batch.transactional ? 16 : 0) + (batch.control ? 32 : 0)
  int64(0, number('baseOffset', 0))
  view.setInt32(8, number('length', size - LENGTH_END))
  view.setInt32(12, number('partitionLeaderEpoch', -1))
  view.setInt8(16, number('magic', 2))
  view.setInt16(21, number('attributes', codecNumber(codec) + flags))
  view.setInt32(23, number('lastOffsetDelta', records.length - 1))
  int64(27, baseTimestamp)
  int64(35, number('maxTimestamp', Math.max(-1, ...times)))
  int64(43, number('producerId', -1))
  view.setInt16(51, number('producerEpoch', -1))
  view.setInt32(53, number('baseSequence', -1))
  view.setInt32(57, number('count', records.length))
  view.setInt32(17, crc32cJs(bytes, ATTRIBUTES, size) ^ (batch.crc === 'wrong' ? 1 : 0))
  return batch.cut === undefined ? bytes : bytes.slice(0, size - Number(batch.cut))
}

function encodeRecord(given: Json, index: number, timestampDelta: number, names: Names): Uint8Array {
  const record = names.resolve(given)
  const members: JsonObject = isObject(record) ? record : { value: record }
  const headers = Object.entries((members.headers ?? {}) as JsonObject)
  const body = concat([
    Uint8Array.of(0),
    varlong(timestampDelta),
    varlong(Number(members.offsetDelta ?? index)),
    ...sized(members.key ?? null, names),
    ...sized(members.value ?? null, names),
    varlong(headers.length),
    ...headers.flatMap(([key, value]) => [...sizedBytes(Uint8Array.from(Buffer.from(key))), ...sized(value, names)]),
  ])
  return concat([varlong(body.length), body])
}

function sized(value: Json, names: Names): Uint8Array[] {
  return sizedBytes(parseBytes(value, names))
}

function sizedBytes(bytes: Uint8Array | null): Uint8Array[] {
  return bytes === null ? [varlong(-1)] : [varlong(bytes.length), bytes]
}

function varlong(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value >= 0 ? value * 2 : -value * 2 - 1
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  bytes.push(rest)
  return Uint8Array.from(bytes)
}

/** What the batches of a Fetch answer read as. Fields at their usual value are left out. */
export function showRecords(bytes: Uint8Array, names: Names): Json {
  const batches: Json[] = []
  eachBatch(bytes, (at, size) => {
    if (batchMagic(bytes, at) !== 2) throw new TypeError(`a batch of magic ${batchMagic(bytes, at)}`)
    batches.push(showBatch(bytes, at, size, names))
  })
  return batches
}

function showBatch(bytes: Uint8Array, at: number, size: number, names: Names): Json {
  const header = readBatchHeader(bytes, at)
  const { baseOffset: base, producerId, producerEpoch, baseSequence, isControl } = header
  if (crc32cJs(bytes, at + ATTRIBUTES, at + size) >>> 0 !== batchCrc(bytes, at)) return { base, crc: 'wrong' }
  const codec = codecName(header.codec)
  const records = readRecords(bytes, at, PLATFORM)
  return {
    base,
    ...(header.partitionLeaderEpoch !== 0 && { partitionLeaderEpoch: header.partitionLeaderEpoch }),
    ...(codec !== undefined && codec !== 'none' && { codec }),
    ...(header.timestampType === 'LogAppendTime' && { logAppendTime: true }),
    ...(producerId >= 0 && { producerId, producerEpoch, ...(!isControl && { baseSequence }) }),
    ...(header.isTransactional && !isControl && { transactional: true }),
    ...(header.lastOffset !== base + header.recordsCount - 1 && { last: header.lastOffset }),
    ...(header.hasDeleteHorizon && { deleteHorizon: true }),
    // Compaction may leave nothing but the header.
    ...(records.length === 0 && { maxTimestamp: names.time(header.maxTimestamp) }),
    ...(isControl && records.length > 0
      ? showMarker(records)
      : { records: records.map((record, index) => showRecord(record, base + index, names.now + index, names)) }),
  }
}

function showMarker(records: RecordData[]): JsonObject {
  const [{ key, value }] = records
  const control = decodeControlRecordKey(key as Uint8Array)
  if (control === undefined) return { control: 'UNKNOWN' }
  return { control, coordinatorEpoch: decodeEndTxnMarker(value as Uint8Array).coordinatorEpoch }
}

function showRecord(record: RecordData, offset: number, time: number, names: Names): Json {
  const value = record.value === null ? null : showBig(record.value)
  const shown: JsonObject = {
    ...(record.offset !== offset && { offset: record.offset }),
    ...(record.key !== null && { key: showBig(record.key) }),
    value,
    ...(record.timestamp !== time && { timestamp: names.time(record.timestamp) }),
    ...(record.headers.length > 0 && {
      headers: Object.fromEntries(
        record.headers.map(header => [header.key, header.value === null ? null : showText(header.value)]),
      ),
    }),
  }
  return Object.keys(shown).length === 1 && typeof value === 'string' ? textOf(value) : shown
}

/** More than 64 times the same byte reads `{ repeat, times }`. */
function showBig(bytes: Uint8Array): Json {
  if (bytes.length > 64 && bytes.every(byte => byte === bytes[0])) {
    return { repeat: showText(bytes.subarray(0, 1)), times: bytes.length }
  }
  return showText(bytes)
}
