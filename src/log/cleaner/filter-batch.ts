/**
 * What cleaning makes of the bytes of one batch: the same, a smaller batch, a header without records, or nothing (Kafka's
 * `MemoryRecords.filterTo`). A batch keeps its base offset, its last offset and its sequence numbers, so that offsets and
 * idempotent producers go on as if nothing had gone; what is inside is written anew with the same codec.
 */

import type { BatchFate } from '../../core/compaction.ts'
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
import { ByteWriter } from '../../util/byte-writer.ts'
import type { Steps } from './cleaning.ts'
import { compressCost, decompressCost, RECORDS_PER_STEP } from './cost.ts'
import { RecordWriter } from './record-writer.ts'

/** Most batches, before they are compressed, fit into that. */
const INITIAL_BYTES = 64 * 1024

export interface BatchFilterOptions {
  platform: RecordsPlatform
  /** Whether the record at the cursor stays; asked of data only. */
  keeps: (cursor: RecordCursor, batch: BatchHeader) => boolean
  /** The horizon that a batch gets which holds tombstones, or is a marker without data, and has none yet; in milliseconds. */
  newHorizonMs: number
}

/** Filters batch after batch in the same memory: garbage would hold up everybody as much as work does. */
export class BatchFilter {
  readonly #platform: RecordsPlatform
  readonly #options: BatchFilterOptions
  readonly #writer = new ByteWriter(INITIAL_BYTES)
  /** 1 for each record of the present batch that stays, and how many do. */
  #kept = new Uint8Array(RECORDS_PER_STEP)
  #count = 0
  #hasTombstone = false

  constructor(options: BatchFilterOptions) {
    this.#platform = options.platform
    this.#options = options
  }

  /**
   * Returns the bytes to write: the batch as it is, another, which is valid until the next call, or undefined when nothing of it
   * stays. It pauses now and again in a batch of many records.
   */
  *filter(
    bytes: Uint8Array,
    batch: BatchHeader,
    fate: BatchFate,
    isObsoleteMarker: boolean,
  ): Steps<Uint8Array | undefined> {
    if (fate.records === 'drop') return this.#empty(bytes, batch, fate)
    const cursor = recordCursor(bytes, 0, this.#platform)
    yield* this.#scan(cursor, batch)
    if (this.#count === 0) return this.#empty(bytes, batch, fate)
    const isNewHorizon = (this.#hasTombstone || isObsoleteMarker) && !batch.hasDeleteHorizon
    if (this.#count === batch.recordsCount && !isNewHorizon) return bytes
    const horizonMs = isNewHorizon
      ? this.#options.newHorizonMs
      : batch.hasDeleteHorizon
        ? batch.baseTimestamp
        : undefined
    return yield* this.#rebuilt(bytes, batch, cursor.bytes, horizonMs)
  }

  /** Learns which records stay, and whether one of them has no value. */
  *#scan(cursor: RecordCursor, batch: BatchHeader): Steps<void> {
    this.#count = 0
    this.#hasTombstone = false
    // A record takes seven bytes at least, so that no number that a broken header tells is more than there is room for.
    const most = Math.min(batch.recordsCount, cursor.bytes.length)
    if (this.#kept.length < most) this.#kept = new Uint8Array(most * 2)
    if (batch.codec !== 0) yield { bytes: 0, cost: decompressCost(cursor) }
    for (let index = 0; ; index += RECORDS_PER_STEP) {
      const end = this.#scanSome(cursor, batch, index)
      yield { bytes: 0, cost: end - index }
      if (end < index + RECORDS_PER_STEP) return
    }
  }

  /** Looks at so many records as may be without a pause. Returns the index behind the last of them. */
  #scanSome(cursor: RecordCursor, batch: BatchHeader, from: number): number {
    const kept = this.#kept
    const { keeps } = this.#options
    let index = from
    for (const end = from + RECORDS_PER_STEP; index < end && cursor.next(); index++) {
      const stays = batch.isControl || keeps(cursor, batch)
      kept[index] = stays ? 1 : 0
      if (!stays) continue
      this.#count++
      if (cursor.valueLength < 0) this.#hasTombstone = true
    }
    return index
  }

  /** The header alone, if it is to stay: it says of its producer what there is to know. */
  #empty(bytes: Uint8Array, batch: BatchHeader, fate: BatchFate): Uint8Array | undefined {
    if (!fate.keepsEmpty) return undefined
    if (batch.recordsCount <= 0) return bytes
    const empty = bytes.slice(0, BATCH_OVERHEAD)
    setBatchSize(empty, 0, BATCH_OVERHEAD)
    setAttributes(empty, 0, batch.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT))
    setBaseTimestamp(empty, 0, -1)
    setRecordsCount(empty, 0, 0)
    refreshCrc(empty, 0, this.#platform.crc32c)
    return empty
  }

  /** @param payload the records as they came out of the codec; the batch itself when it is not compressed */
  *#rebuilt(
    bytes: Uint8Array,
    batch: BatchHeader,
    payload: Uint8Array,
    horizonMs: number | undefined,
  ): Steps<Uint8Array> {
    const writer = this.#writer
    writer.clear()
    const codec = codecName(batch.codec) as CodecName
    const header = bytes.subarray(0, BATCH_OVERHEAD)
    if (codec === 'none') writer.bytes(header)
    const times = yield* this.#writeKept(batch, payload, horizonMs)
    if (codec !== 'none') {
      const records = writer.finish()
      const stored = yield* this.#compressed(codec, records)
      writer.clear()
      writer.bytes(header)
      writer.bytes(stored)
    }
    const result = writer.finish()
    setBatchSize(result, 0, result.length)
    if (horizonMs !== undefined) setAttributes(result, 0, batch.attributes | DELETE_HORIZON_BIT)
    setBaseTimestamp(result, 0, times.base)
    if (batch.timestampType !== 'LogAppendTime') setMaxTimestamp(result, 0, times.max)
    setRecordsCount(result, 0, this.#count)
    refreshCrc(result, 0, this.#platform.crc32c)
    return result
  }

  *#compressed(codec: CodecName, records: Uint8Array): Steps<Uint8Array> {
    const { compression } = this.#platform
    const steps = compression.compressInSteps?.(codec, records)
    if (steps === undefined) {
      yield { bytes: 0, cost: compressCost(codec, records.length) }
      return compression.compress(codec, records)
    }
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
      yield { bytes: 0, cost: compressCost(codec, step.value) }
    }
  }

  /** Writes the records that stay. Returns the base timestamp, from which the others count, and the largest. */
  *#writeKept(
    batch: BatchHeader,
    payload: Uint8Array,
    horizonMs: number | undefined,
  ): Steps<{ base: number; max: number }> {
    const [start, end] = batch.codec === 0 ? [BATCH_OVERHEAD, batch.sizeInBytes] : [0, payload.length]
    const cursor = new RecordCursor(payload, start, end, batch.recordsCount)
    const writer = new RecordWriter(this.#writer, payload)
    const isAppendTime = batch.timestampType === 'LogAppendTime'
    let base = horizonMs
    let max = -1
    for (let index = 0; cursor.next(); index++) {
      if (index % RECORDS_PER_STEP === RECORDS_PER_STEP - 1) yield { bytes: 0, cost: RECORDS_PER_STEP / 2 }
      if (this.#kept[index] === 0) continue
      const timestamp = isAppendTime ? batch.maxTimestamp : batch.baseTimestamp + cursor.timestampDelta
      base ??= timestamp
      if (timestamp > max) max = timestamp
      writer.write(cursor, timestamp - base)
    }
    writer.end()
    return { base: base as number, max }
  }
}
