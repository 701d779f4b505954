import type { ControllerMessages } from '../../broker/link.ts'
import type { DecisionContext } from '../decision-context.ts'
import { withdrawReplica } from './broker-changes.ts'

/** A broker says that logs of its own failed: it leaves the in-sync replicas of those partitions, and leads them no more. */
export function failReplicas(
  { brokerId, brokerEpoch, partitions }: ControllerMessages['failReplicas']['request'],
  context: DecisionContext,
): ControllerMessages['failReplicas']['reply'] {
  if (context.image.brokers.get(brokerId)?.brokerEpoch !== brokerEpoch) return { error: 'STALE_BROKER_EPOCH' }
  for (const { topicId, partitionId } of partitions) {
    context.failedReplicas.add(brokerId, topicId, partitionId)
    withdrawReplica(brokerId, topicId, partitionId, context)
  }
  return { error: 'NONE' }
}
