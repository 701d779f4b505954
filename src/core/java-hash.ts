// Java's String.hashCode and what Kafka makes of it: the partition of __consumer_offsets or __transaction_state, and with it
// the coordinator, that a group id or transactional id belongs to. Follows GroupMetadataManager.partitionFor and Utils.abs.

/** `String.hashCode` of Java: signed 32 bits, over UTF-16 code units. */
export function javaStringHash(text: string): number {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return hash
}

/** Kafka's `Utils.abs`: the absolute value, but 0 for the smallest int, whose absolute value no int holds. */
export function javaAbs(value: number): number {
  return value === -2147483648 ? 0 : Math.abs(value)
}

/** The partition of the coordinator's topic (of `numPartitions`) that keeps the state of this group or transactional id. */
export function coordinatorPartition(id: string, numPartitions: number): number {
  return javaAbs(javaStringHash(id)) % numPartitions
}

/**
 * The order in which a `java.util.HashMap` lists these keys. Where Kafka takes "the first that is best" from one, that is what
 * decides. Keys that share a bucket stay in the order given.
 */
export function javaMapOrder(keys: readonly string[]): string[] {
  let buckets = 16
  while (keys.length > buckets * 0.75) buckets *= 2
  const bucketOf = (key: string) => {
    const hash = javaStringHash(key)
    return (hash ^ (hash >>> 16)) & (buckets - 1)
  }
  return [...keys].sort((a, b) => bucketOf(a) - bucketOf(b))
}
