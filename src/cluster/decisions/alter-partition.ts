import type { ControllerMessages, IsrProposal } from '../../broker/link.ts'
import { isActive, type PartitionImage } from '../../broker/metadata/image.ts'
import type { ErrorName } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'
import { rulesOf } from './broker-changes.ts'
import { changePartition } from './partition-change.ts'

/**
 * A leader asks for other in-sync replicas (KIP-497, `ReplicationControlManager.alterPartition`): granted when it still leads, knows
 * the partition as it is, and asks only for replicas that may be in sync.
 */

type Message = ControllerMessages['alterPartition']['request']
type Reply = ControllerMessages['alterPartition']['reply']

export function alterPartition({ brokerId, brokerEpoch, partitions }: Message, context: DecisionContext): Reply {
  const broker = context.image.brokers.get(brokerId)
  if (broker?.brokerEpoch !== brokerEpoch) return { error: 'STALE_BROKER_EPOCH', partitions: [] }
  return {
    error: 'NONE',
    partitions: partitions.map(proposal => {
      const { topicId, partitionId } = proposal
      return { topicId, partitionId, error: alter(brokerId, proposal, context) }
    }),
  }
}

function alter(brokerId: number, proposal: IsrProposal, context: DecisionContext): ErrorName {
  const topic = context.image.topicsById.get(proposal.topicId)
  if (topic === undefined) return 'UNKNOWN_TOPIC_ID'
  const partition: PartitionImage | undefined = topic.partitions[proposal.partitionId]
  if (partition === undefined) return 'UNKNOWN_TOPIC_OR_PARTITION'
  const refusal = refusalOf(brokerId, proposal, partition, context)
  if (refusal !== undefined) return refusal
  const { leaderRecoveryState } = proposal
  const isr = proposal.isr.map(member => member.brokerId)
  const election = context.topicConfig(topic.name).boolean('unclean.leader.election.enable') ? 'unclean' : 'online'
  const rules = rulesOf(topic, partition.partitionId, context)
  const next = changePartition(partition, { isr, leaderRecoveryState, election }, rules)
  if (next === undefined) return 'NONE'
  context.append({ type: 'partition', topicId: topic.topicId, ...next })
  // The reassignment that this completed took the leader away: he hears of it from the metadata.
  return next.leader === partition.leader ? 'NONE' : 'NEW_LEADER_ELECTED'
}

function refusalOf(
  brokerId: number,
  { topicId, leaderEpoch, partitionEpoch, isr, leaderRecoveryState }: IsrProposal,
  partition: PartitionImage,
  { image }: DecisionContext,
): ErrorName | undefined {
  if (leaderEpoch > partition.leaderEpoch || partitionEpoch > partition.partitionEpoch) return 'NOT_CONTROLLER'
  if (leaderEpoch < partition.leaderEpoch) return 'FENCED_LEADER_EPOCH'
  if (brokerId !== partition.leader) return 'INVALID_REQUEST'
  if (partitionEpoch < partition.partitionEpoch) return 'INVALID_UPDATE_VERSION'
  const ids = isr.map(member => member.brokerId)
  if (!ids.includes(brokerId) || ids.some(id => !partition.replicas.includes(id))) return 'INVALID_REQUEST'
  if (leaderRecoveryState > partition.leaderRecoveryState) return 'INVALID_REQUEST'
  if (leaderRecoveryState !== 0 && ids.length > 1) return 'INVALID_REQUEST'
  const isIneligible = isr.some(member => {
    const broker = image.brokers.get(member.brokerId)
    // One whose log has failed has nothing, whatever it had when it last fetched.
    if (!isActive(broker) || image.isReplicaOffline(member.brokerId, topicId, partition.partitionId)) return true
    return member.brokerEpoch !== -1 && member.brokerEpoch !== broker?.brokerEpoch
  })
  return isIneligible ? 'INELIGIBLE_REPLICA' : undefined
}
