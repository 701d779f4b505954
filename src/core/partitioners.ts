// The hashes that decide which partition a keyed record goes to, over bytes. It is not the producer's whole choice: records
// without a key are spread by the client. murmur2 and toPositive follow Kafka's BuiltInPartitioner and Utils; FNV-1a is what
// Sarama and kafka-go use, and the model's default.

const FNV_BASIS = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** 32-bit FNV-1a of the bytes, unsigned. `fnv1a32(utf8('foobar'))` is `0xbf9cf968`. */
export function fnv1a32(bytes: Uint8Array): number {
  let hash = FNV_BASIS
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], FNV_PRIME)
  return hash >>> 0
}

const MURMUR_SEED = 0x9747b28c
const MURMUR_M = 0x5bd1e995

/** 32-bit murmur2 with Kafka's seed, signed as in Java. `murmur2(utf8('foobar'))` is `-790332482`. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length
  const whole = length & ~3
  let hash = MURMUR_SEED ^ length
  for (let i = 0; i < whole; i += 4) {
    const word = bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24)
    const mixed = Math.imul(word, MURMUR_M)
    hash = Math.imul(hash, MURMUR_M) ^ Math.imul(mixed ^ (mixed >>> 24), MURMUR_M)
  }
  if (whole < length) {
    for (let i = whole; i < length; i++) hash ^= bytes[i] << (8 * (i - whole))
    hash = Math.imul(hash, MURMUR_M)
  }
  hash = Math.imul(hash ^ (hash >>> 13), MURMUR_M)
  return hash ^ (hash >>> 15)
}

/** Clears the sign bit, as Kafka does before the modulo. It is not the absolute value. */
export function toPositive(hash: number): number {
  return hash & 0x7fffffff
}

/** The partition Kafka's Java producer, and every compatible client, chooses for a key (an empty key is hashed like any other). */
export function javaPartition(key: Uint8Array, numPartitions: number): number {
  return toPositive(murmur2(key)) % numPartitions
}
