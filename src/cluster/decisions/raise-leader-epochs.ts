import type { ControllerMessages } from '../../broker/link.ts'
import type { DecisionContext } from '../decision-context.ts'

/**
 * Elects the leaders that there are once more, so that their epochs rise: what clients see when leadership moved and came back.
 * Kafka has no such request; in a cluster of one it is the part of a failover that can happen.
 */
export function raiseLeaderEpochs(
  { topic, partition, atLeast }: ControllerMessages['raiseLeaderEpochs']['request'],
  { image, append }: DecisionContext,
): ControllerMessages['raiseLeaderEpochs']['reply'] {
  for (const { name, topicId, partitions } of image.topicsByName.values()) {
    if (topic !== null && topic !== name) continue
    for (const each of partitions) {
      if (partition >= 0 && partition !== each.partitionId) continue
      append({
        type: 'partition',
        topicId,
        ...each,
        leaderEpoch: Math.max(each.leaderEpoch + 1, atLeast),
        partitionEpoch: each.partitionEpoch + 1,
      })
    }
  }
  return {}
}
