/**
 * Replicas that are offline although their brokers live, because their logs failed: told by the broker, written down by the controller
 * with the broker's registration, and so known to every broker until it registers again (what Kafka says with the log directories of a
 * registration, KIP-858; there a whole directory fails, here a log).
 */

export interface OfflineReplicas {
  readonly topicId: string
  readonly partitions: readonly number[]
}

type Offline = readonly OfflineReplicas[]

export function includesReplica(offline: Offline, topicId: string, partitionId: number): boolean {
  return offline.some(each => each.topicId === topicId && each.partitions.includes(partitionId))
}

/** Those of both, each once, as far as `isReplica` says that there is such a replica. */
export function joinedReplicas(
  offline: Offline,
  more: Offline,
  isReplica: (topicId: string, partitionId: number) => boolean,
): Offline {
  if (more.length === 0) return offline
  const byTopic = new Map(offline.map(({ topicId, partitions }) => [topicId, new Set(partitions)]))
  for (const { topicId, partitions } of more) {
    const joined = byTopic.get(topicId) ?? new Set<number>()
    for (const partitionId of partitions) if (isReplica(topicId, partitionId)) joined.add(partitionId)
    if (joined.size > 0) byTopic.set(topicId, joined)
  }
  return [...byTopic].map(([topicId, partitions]) => ({ topicId, partitions: [...partitions] }))
}

/** Without one of a topic, or without all of it. */
export function withoutReplica(offline: Offline, topicId: string, partitionId?: number): Offline {
  if (!offline.some(each => each.topicId === topicId)) return offline
  return offline
    .map(each => {
      if (each.topicId !== topicId) return each
      return { topicId, partitions: each.partitions.filter(id => partitionId !== undefined && id !== partitionId) }
    })
    .filter(({ partitions }) => partitions.length > 0)
}
