import type { ControllerMessages } from '../../broker/link.ts'
import type { PartitionImage, TopicImage } from '../../broker/metadata/image.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'
import { rulesOf } from './broker-changes.ts'
import { changePartition, NO_LEADER } from './partition-change.ts'

/**
 * Elects leaders when an admin asks (KIP-183, KIP-460, `ReplicationControlManager.electLeaders`): the preferred one, which is the
 * first replica, or, where nobody leads, any that lives.
 */

type Message = ControllerMessages['electLeaders']['request']
type Reply = ControllerMessages['electLeaders']['reply']
type TopicResult = NonNullable<Reply['replicaElectionResults']>[number]
type PartitionResult = NonNullable<TopicResult['partitionResult']>[number]

const UNCLEAN = 1

export function electLeadersDecision({ request, apiVersion }: Message, context: DecisionContext): Reply {
  const { electionType, topicPartitions } = request
  if (electionType < 0 || electionType > UNCLEAN) return refuseType(request, electionType)
  const replicaElectionResults =
    topicPartitions === null
      ? electEverywhere(electionType, context)
      : topicPartitions.map(({ topic, partitions }) => ({
          topic,
          partitionResult: partitions.map(id => elect(topic, id, electionType, context)),
        }))
  return { ...(apiVersion >= 1 && { errorCode: 0 }), replicaElectionResults }
}

function refuseType({ topicPartitions }: Message['request'], electionType: number): Reply {
  const errorCode = ERROR_CODES.INVALID_REQUEST
  const errorMessage = `Unknown election type ${electionType}`
  const replicaElectionResults = (topicPartitions ?? []).map(({ topic, partitions }) => ({
    topic,
    partitionResult: partitions.map(partitionId => ({ partitionId, errorCode, errorMessage })),
  }))
  return { errorCode, replicaElectionResults }
}

/** All topics are told, with the partitions where there was something to elect. */
function electEverywhere(electionType: number, context: DecisionContext): TopicResult[] {
  return [...context.image.topicsByName.values()].map(({ name, partitions }) => ({
    topic: name,
    partitionResult: partitions
      .map(({ partitionId }) => elect(name, partitionId, electionType, context))
      .filter(({ errorCode }) => errorCode !== ERROR_CODES.ELECTION_NOT_NEEDED),
  }))
}

function elect(name: string, partitionId: number, electionType: number, context: DecisionContext): PartitionResult {
  try {
    const topic = context.image.topicsByName.get(name)
    if (topic === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `No such topic as ${name}`)
    const partition: PartitionImage | undefined = topic.partitions[partitionId]
    if (partition === undefined) {
      throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `No such partition as ${name}-${partitionId}`)
    }
    const next = afterElection(topic, partition, electionType, context)
    context.append({ type: 'partition', topicId: topic.topicId, ...next })
    return { partitionId, errorCode: 0, errorMessage: null }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return { partitionId, errorCode: error.code, errorMessage: error.message }
  }
}

function afterElection(
  topic: TopicImage,
  partition: PartitionImage,
  electionType: number,
  context: DecisionContext,
): PartitionImage {
  const { leader, replicas } = partition
  if (electionType === UNCLEAN ? leader !== NO_LEADER : leader === replicas[0]) {
    throw new KafkaError('ELECTION_NOT_NEEDED', 'Leader election not needed for topic partition.')
  }
  const election = electionType === UNCLEAN ? 'unclean' : 'preferred'
  const next = changePartition(partition, { election }, rulesOf(topic, partition.partitionId, context))
  if (next !== undefined && next.leader !== leader) return next
  if (electionType === UNCLEAN) {
    throw new KafkaError('ELIGIBLE_LEADERS_NOT_AVAILABLE', 'No eligible leader is available.')
  }
  throw new KafkaError('PREFERRED_LEADER_NOT_AVAILABLE', 'The preferred leader was not available.')
}
