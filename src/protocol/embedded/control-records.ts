import { decodeVersioned, encodeVersioned } from '../codec.ts'
import { type Decoded, int16, int32, message, struct } from '../dsl.ts'

/**
 * Key and value of the one record in a control batch, which ends a transaction in a partition. Control records of the
 * metadata quorum are not here. Follows `ControlRecordType` and `EndTransactionMarker` of Kafka.
 */

/** Stands behind a version of its own, as int16. */
export const controlRecordKey = message({
  name: 'ControlRecordTypeSchema',
  versions: [0, 0],
  flexible: undefined,
  body: struct({ type: int16() }),
})

/** The value beside ABORT and COMMIT. */
export const endTxnMarker = message({
  name: 'EndTxnMarker',
  versions: [0, 0],
  flexible: undefined,
  body: struct({ coordinatorEpoch: int32() }),
})

export type EndTxnMarker = Decoded<typeof endTxnMarker.body>

export const CONTROL_RECORD_TYPES = { ABORT: 0, COMMIT: 1 } as const

export type ControlRecordTypeName = keyof typeof CONTROL_RECORD_TYPES

export function encodeControlRecordKey(type: ControlRecordTypeName): Uint8Array {
  return encodeVersioned(controlRecordKey, 0, { type: CONTROL_RECORD_TYPES[type] })
}

/** @returns undefined for a type that is neither ABORT nor COMMIT, which readers pass over. @throws ByteError */
export function decodeControlRecordKey(key: Uint8Array): ControlRecordTypeName | undefined {
  const { type } = decodeVersioned(controlRecordKey, key)
  if (type === CONTROL_RECORD_TYPES.ABORT) return 'ABORT'
  return type === CONTROL_RECORD_TYPES.COMMIT ? 'COMMIT' : undefined
}

export function encodeEndTxnMarker(coordinatorEpoch: number): Uint8Array {
  return encodeVersioned(endTxnMarker, 0, { coordinatorEpoch })
}

/** @throws ByteError when the value is cut short. */
export function decodeEndTxnMarker(value: Uint8Array): EndTxnMarker {
  return decodeVersioned(endTxnMarker, value)
}
