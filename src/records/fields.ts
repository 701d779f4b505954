/**
 * Integers at fixed positions of a byte range, big-endian, read and written in place. For the batch header, whose fields
 * never move, so that the hot path needs no cursor and allocates nothing. Bounds are the caller's business.
 */

import { assert } from '../util/assert.ts'

const TWO_32 = 0x100000000

export function int8At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24) >> 24
}

export function int16At(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) >> 16) | bytes[at + 1]
}

export function int32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]
}

/** Saturated at ±(2^53 − 1), as `ByteReader.int64` does. */
export function int64At(bytes: Uint8Array, at: number): number {
  return saturate(int32At(bytes, at) * TWO_32 + (int32At(bytes, at + 4) >>> 0))
}

export function setInt16At(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >> 8
  bytes[at + 1] = value
}

export function setInt32At(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >> 24
  bytes[at + 1] = value >> 16
  bytes[at + 2] = value >> 8
  bytes[at + 3] = value
}

/** Refuses what is not an exact integer, as `ByteWriter.int64` does. */
export function setInt64At(bytes: Uint8Array, at: number, value: number): void {
  assert(Number.isSafeInteger(value), `int64 out of range: ${value}`)
  const high = Math.floor(value / TWO_32)
  setInt32At(bytes, at, high)
  setInt32At(bytes, at + 4, value - high * TWO_32)
}

/** The nearest exact integer: sums of saturated values stay exact too. */
export function saturate(value: number): number {
  if (value > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER
  if (value < -Number.MAX_SAFE_INTEGER) return -Number.MAX_SAFE_INTEGER
  return value
}
