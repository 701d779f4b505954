import { alterReplicaLogDirs } from '../../protocol/apis/alter-replica-log-dirs.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import type { Broker } from '../broker.ts'
import { handler } from '../handler.ts'

/** Moves replicas to another directory of this broker. There is one, where all of them are (`ReplicaManager.alterReplicaLogDirs`). */
export const alterReplicaLogDirsHandler = handler(alterReplicaLogDirs, ({ dirs }, { broker }) => {
  const { path: own } = broker.replicas.storageUsage()
  // Of several directories for a partition the last one counts.
  const topics = new Map<string, Map<number, number>>()
  for (const { path, topics: moved } of dirs) {
    for (const { name, partitions } of moved) {
      const results = topics.get(name) ?? new Map<number, number>()
      topics.set(name, results)
      for (const index of partitions) {
        results.set(index, path === own ? hosted(name, index, broker) : ERROR_CODES.LOG_DIR_NOT_FOUND)
      }
    }
  }
  const results = [...topics].map(([topicName, partitions]) => ({
    topicName,
    partitions: [...partitions].map(([partitionIndex, errorCode]) => ({ partitionIndex, errorCode })),
  }))
  return { results }
})

function hosted(topic: string, index: number, { image }: Broker): number {
  return image.partition(topic, index) === undefined ? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION : ERROR_CODES.NONE
}
