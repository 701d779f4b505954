import type { ControllerMessages } from '../../broker/link.ts'
import type { DecisionContext } from '../decision-context.ts'
import { withdrawReplica } from './broker-changes.ts'

/**
 * A broker says that logs of its own failed: all brokers learn that those replicas are offline, and it leaves the in-sync replicas of their
 * partitions, and leads them no more (`ReplicationControlManager.handleDirectoriesOffline`).
 */
export function failReplicas(
  { brokerId, brokerEpoch, partitions }: ControllerMessages['failReplicas']['request'],
  context: DecisionContext,
): ControllerMessages['failReplicas']['reply'] {
  const broker = context.image.brokers.get(brokerId)
  if (broker?.brokerEpoch !== brokerEpoch) return { error: 'STALE_BROKER_EPOCH' }
  const byTopic = new Map<string, number[]>()
  for (const { topicId, partitionId } of partitions) {
    // Told again, perhaps, by a broker that had not heard the answer.
    if (context.image.isReplicaOffline(brokerId, topicId, partitionId)) continue
    const failed = byTopic.get(topicId) ?? []
    failed.push(partitionId)
    byTopic.set(topicId, failed)
  }
  if (byTopic.size > 0) {
    const { fenced, inControlledShutdown } = broker
    const offlineReplicas = [...byTopic].map(([topicId, failed]) => ({ topicId, partitions: failed }))
    context.append({ type: 'brokerChange', brokerId, brokerEpoch, fenced, inControlledShutdown, offlineReplicas })
  }
  for (const { topicId, partitionId } of partitions) withdrawReplica(brokerId, topicId, partitionId, context)
  return { error: 'NONE' }
}
