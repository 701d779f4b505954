/**
 * Control batches: the markers that end a transaction (KIP-98). A control record's key says what it is, and its value is
 * the marker (Kafka's `ControlRecordType`, `EndTransactionMarker`). The records that only a KRaft quorum writes are
 * recognised, not read.
 */

import { ByteReader } from '../util/byte-reader.ts'
import { ByteWriter } from '../util/byte-writer.ts'
import { buildBatch } from './batch-builder.ts'
import type { Crc32c } from './crc32c.ts'
import { RecordsError } from './records-error.ts'

/** Kafka's types of control records by number. */
const CONTROL_TYPES = [
  'ABORT',
  'COMMIT',
  'LEADER_CHANGE',
  'SNAPSHOT_HEADER',
  'SNAPSHOT_FOOTER',
  'KRAFT_VERSION',
  'KRAFT_VOTERS',
] as const

/** What a control record is; `UNKNOWN` for a number that this version does not know, which readers skip. */
export type ControlType = (typeof CONTROL_TYPES)[number] | 'UNKNOWN'

/** The type that a control record's key names. */
export function controlType(key: Uint8Array | null): ControlType {
  if (key === null || key.length < 4) throw new RecordsError('INVALID_RECORD', 'control record without a whole key')
  const reader = new ByteReader(key)
  const version = reader.int16()
  if (version < 0) throw new RecordsError('INVALID_RECORD', `invalid version ${version} of a control record's key`)
  return CONTROL_TYPES[reader.int16()] ?? 'UNKNOWN'
}

/** The end of a transaction as it stands in the log. */
export interface EndTransactionMarker {
  type: 'COMMIT' | 'ABORT'
  coordinatorEpoch: number
}

/**
 * Reads a COMMIT or ABORT record; undefined for other control records.
 *
 * @throws {RecordsError} INVALID_RECORD when key or value are broken.
 */
export function readEndTransactionMarker(
  key: Uint8Array | null,
  value: Uint8Array | null,
): EndTransactionMarker | undefined {
  const type = controlType(key)
  if (type !== 'COMMIT' && type !== 'ABORT') return undefined
  if (value === null || value.length < 6) throw new RecordsError('INVALID_RECORD', 'transaction marker is cut off')
  const reader = new ByteReader(value)
  const version = reader.int16()
  if (version < 0) throw new RecordsError('INVALID_RECORD', `invalid version ${version} of a transaction marker`)
  return { type, coordinatorEpoch: reader.int32() }
}

/** What {@link buildEndTransactionMarker} needs to know. */
export interface EndTransactionMarkerInput extends EndTransactionMarker {
  producerId: number
  producerEpoch: number
  /** In milliseconds. */
  timestamp: number
  baseOffset?: number
  partitionLeaderEpoch?: number
  crc32c?: Crc32c
}

/** The batch of one record that ends a transaction in one partition. */
export function buildEndTransactionMarker(input: EndTransactionMarkerInput): Uint8Array {
  const key = new ByteWriter(4)
  key.int16(0)
  key.int16(CONTROL_TYPES.indexOf(input.type))
  const value = new ByteWriter(6)
  value.int16(0)
  value.int32(input.coordinatorEpoch)
  return buildBatch({
    records: [{ key: key.finish(), value: value.finish(), timestamp: input.timestamp }],
    baseOffset: input.baseOffset,
    partitionLeaderEpoch: input.partitionLeaderEpoch,
    producerId: input.producerId,
    producerEpoch: input.producerEpoch,
    isTransactional: true,
    isControl: true,
    crc32c: input.crc32c,
  })
}
