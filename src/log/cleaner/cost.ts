/**
 * What cleaning costs, by which it is cut into slices: in records looked at, since the pure part has no fine clock, and since what is
 * counted is the same each time. Everything else is a number of records that take about as long on today's machines.
 */

import type { CodecName } from '../../records/compression.ts'
import type { RecordCursor } from '../../records/record-cursor.ts'

/** What was done between two pauses. */
export interface Work {
  /** Read and written, which `log.cleaner.io.max.bytes.per.second` limits. */
  readonly bytes: number
  /** In records looked at. */
  readonly cost: number
}

/** After so many records there is a pause. */
export const RECORDS_PER_STEP = 256

/** To read or write so many bytes costs as much as a record. */
const BYTES_PER_RECORD = 2048
/** To get so many bytes out of a codec does. */
const DECOMPRESSED_PER_RECORD = 128
/** To give it so many does. */
const COMPRESSED_PER_RECORD = { none: BYTES_PER_RECORD, gzip: 32, snappy: 256, lz4: 256, zstd: 96 }
/** Whatever is done with a batch, and with a codec, it costs as much as so many records. */
const BATCH_COST = 4
const CODEC_COST = 50

/** The cost of going to a batch of `size` bytes in the log, or of writing it. */
export function bytesCost(size: number): number {
  return BATCH_COST + size / BYTES_PER_RECORD
}

/** What it has cost to get out of a codec what the cursor goes over. */
export function decompressCost({ bytes }: RecordCursor): number {
  return CODEC_COST + bytes.length / DECOMPRESSED_PER_RECORD
}

export function compressCost(codec: CodecName, bytes: number): number {
  return CODEC_COST + bytes / COMPRESSED_PER_RECORD[codec]
}
