import type { ControllerMessages } from '../../broker/link.ts'
import type { PartitionImage, TopicImage } from '../../broker/metadata/image.ts'
import type { DecisionContext } from '../decision-context.ts'
import { rulesOf } from './broker-changes.ts'

/**
 * Elects the leaders that there are once more, so that their epochs rise: what clients see when leadership moved and came back; or others
 * that are in sync, where there are any. Kafka has no such request; in a cluster of one it is the part of a failover that can happen.
 */
export function raiseLeaderEpochs(
  { topic, partition, atLeast, elsewhere }: ControllerMessages['raiseLeaderEpochs']['request'],
  context: DecisionContext,
): ControllerMessages['raiseLeaderEpochs']['reply'] {
  for (const each of context.image.topicsByName.values()) {
    if (topic !== null && topic !== each.name) continue
    for (const image of each.partitions) {
      if (partition >= 0 && partition !== image.partitionId) continue
      context.append({
        type: 'partition',
        topicId: each.topicId,
        ...image,
        leader: elsewhere ? nextLeader(each, image, context) : image.leader,
        leaderEpoch: Math.max(image.leaderEpoch + 1, atLeast),
        partitionEpoch: image.partitionEpoch + 1,
      })
    }
  }
  return {}
}

/** The next of the replicas behind the leader that is in sync and may lead; the leader itself when there is no other. */
function nextLeader(
  topic: TopicImage,
  { partitionId, leader, replicas, isr }: PartitionImage,
  context: DecisionContext,
) {
  const { isAcceptableLeader } = rulesOf(topic, partitionId, context)
  const at = replicas.indexOf(leader)
  const others = [...replicas.slice(at + 1), ...replicas.slice(0, Math.max(0, at))]
  return others.find(id => isr.includes(id) && isAcceptableLeader(id)) ?? leader
}
