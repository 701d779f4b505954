import { KafkaError } from '../../protocol/errors.ts'

/**
 * Chooses the replicas of new partitions: leaders go round the brokers, and the replicas of one partition lie on different
 * ones (`StripedReplicaPlacer`, without racks).
 */
export function placePartitions(options: {
  brokers: readonly number[]
  count: number
  replicationFactor: number
  /** Where to begin, so that not every topic begins with the same broker. */
  start: number
}): number[][] {
  const { brokers, count, replicationFactor, start } = options
  if (replicationFactor > brokers.length) {
    throw new KafkaError(
      'INVALID_REPLICATION_FACTOR',
      `Unable to replicate the partition ${replicationFactor} time(s): The target replication factor of ${replicationFactor} ` +
        `cannot be reached because only ${brokers.length} broker(s) are registered or some brokers have all their log directories cordoned.`,
    )
  }
  return Array.from({ length: count }, (_, partition) => {
    // Later rounds shift the followers, so that the load of a dead leader spreads.
    const round = Math.floor(partition / brokers.length)
    return Array.from({ length: replicationFactor }, (__, replica) => {
      const shift = replica === 0 ? 0 : 1 + ((replica - 1 + round) % Math.max(1, brokers.length - 1))
      return brokers[(start + partition + shift) % brokers.length]
    })
  })
}

/** What is wrong with the replicas of one partition, or undefined. */
export function checkReplicas(
  replicas: readonly number[],
  expected: number,
  exists: (id: number) => boolean,
): string | undefined {
  if (replicas.length === 0) return 'The manual partition assignment includes an empty replica list.'
  const unknown = replicas.find(id => !exists(id))
  if (unknown !== undefined) {
    return `The manual partition assignment includes broker ${unknown}, but no such broker is registered.`
  }
  const twice = replicas.find((id, at) => replicas.indexOf(id) !== at)
  if (twice !== undefined) return `The manual partition assignment includes the broker ${twice} more than once.`
  if (replicas.length !== expected) {
    return `The manual partition assignment includes a partition with ${replicas.length} replica(s), but another has ${expected}.`
  }
  return undefined
}
