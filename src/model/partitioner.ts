// Which partition a record goes to: the hash of its key modulo the number of partitions, so that equal keys meet in one partition and
// stay in order. Kafka's own producer hashes with murmur2; the model's default is FNV-1a, because it fits into three lines.

import { checkPartitionCount, checkType } from './check.ts'

export type Key = string | Uint8Array

/** Chooses the partition (0 up to, not including, `numPartitions`) of a record with a key. */
export type Partitioner = (key: Key, numPartitions: number) => number

/**
 * The partition of a key: 32-bit FNV-1a over its UTF-8 bytes, modulo the number of partitions.
 *
 * @throws TypeError if the key is neither a string nor bytes
 * @throws RangeError if `numPartitions` is not a positive integer
 * @example partitionFor('foobar', 6) // 0
 */
export function partitionFor(key: Key, numPartitions: number): number {
  return (typeof key === 'string' ? fnv1a32OfText(key) : fnv1a32(bytesOf(key))) % checkPartitionCount(numPartitions)
}

/** The partition Kafka's Java producer chooses: murmur2 without its sign bit, modulo the number of partitions. */
export function murmur2PartitionFor(key: Key, numPartitions: number): number {
  return (murmur2(bytesOf(key)) & 0x7fffffff) % checkPartitionCount(numPartitions)
}

/** A key as bytes; a string as UTF-8. */
export function bytesOf(key: Key): ArrayLike<number> {
  if (typeof key === 'string') return utf8(key)
  checkType(isBytes(key), 'key', 'a string or a Uint8Array', key)
  return key
}

/** Whether it is a Uint8Array, also one of another window or of a test environment, where `instanceof` says no. */
export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]'
}

/** 32-bit FNV-1a, unsigned. */
export function fnv1a32(bytes: ArrayLike<number>): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193)
  return hash >>> 0
}

/** The same of a string. Plain ASCII, the usual key, needs no array of bytes. */
function fnv1a32OfText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return fnv1a32(utf8(text))
    hash = Math.imul(hash ^ code, 0x01000193)
  }
  return hash >>> 0
}

/** 32-bit murmur2 with Kafka's seed, signed as in Java. */
export function murmur2(bytes: ArrayLike<number>): number {
  const m = 0x5bd1e995
  const tail = bytes.length & ~3
  let hash = 0x9747b28c ^ bytes.length
  for (let i = 0; i < tail; i += 4) {
    let word = bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24)
    word = Math.imul(word, m)
    word = Math.imul(word ^ (word >>> 24), m)
    hash = Math.imul(hash, m) ^ word
  }
  if (tail < bytes.length) {
    for (let i = tail; i < bytes.length; i++) hash ^= bytes[i] << (8 * (i - tail))
    hash = Math.imul(hash, m)
  }
  hash = Math.imul(hash ^ (hash >>> 13), m)
  return hash ^ (hash >>> 15)
}

/** A string as UTF-8 bytes. Half a surrogate pair becomes U+FFFD, as everywhere on the web. */
export function utf8(text: string): number[] {
  const bytes: number[] = []
  const low = (bits: number) => 0x80 | (bits & 0x3f)
  for (let i = 0; i < text.length; i++) {
    let code = text.codePointAt(i)!
    if (code > 0xffff) i++
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd
    if (code < 0x80) bytes.push(code)
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), low(code))
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), low(code >> 6), low(code))
    else bytes.push(0xf0 | (code >> 18), low(code >> 12), low(code >> 6), low(code))
  }
  return bytes
}
