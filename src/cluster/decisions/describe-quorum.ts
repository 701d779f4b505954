import type { ControllerMessages } from '../../broker/link.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'

/**
 * The quorum of controllers (KIP-595, `KafkaRaftClient.handleDescribeQuorumRequest`): here one voter, and the brokers that are told what it decides
 * as observers. In a cluster of one the broker is told as the voter, as where a process of Kafka is broker and controller.
 */

/** The id of a controller that is none of the brokers. Nobody else may have it. */
export const CONTROLLER_ID = 3000

const METADATA_TOPIC = '__cluster_metadata'

type Message = ControllerMessages['describeQuorum']['request']
type Reply = ControllerMessages['describeQuorum']['reply']
type Topics = Message['request']['topics']

export function describeQuorumDecision({ request: { topics } }: Message, context: DecisionContext): Reply {
  if (!asksForMetadata(topics)) return { errorMessage: '', topics: refuseAll(topics) }
  const { image, quorum, env } = context
  const { leaderId, highWatermark } = quorum
  const now = env.now()
  const observers = quorum.observers().map(({ brokerId, endOffset, heardAt }) => ({
    replicaId: brokerId,
    logEndOffset: endOffset,
    lastFetchTimestamp: heardAt,
    lastCaughtUpTimestamp: endOffset >= highWatermark ? now : heardAt,
  }))
  const leader = {
    replicaId: leaderId,
    logEndOffset: highWatermark,
    lastFetchTimestamp: now,
    lastCaughtUpTimestamp: now,
  }
  const partition = {
    partitionIndex: 0,
    errorMessage: '',
    leaderId,
    leaderEpoch: 1,
    highWatermark,
    currentVoters: [leader],
    observers: observers.filter(({ replicaId }) => replicaId !== leaderId),
  }
  const broker = image.brokers.get(leaderId)
  const listeners = broker === undefined ? [] : [{ name: 'CONTROLLER', host: broker.host, port: broker.port }]
  return {
    errorMessage: '',
    topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }],
    nodes: [{ nodeId: leaderId, listeners }],
  }
}

/** Nothing but the one partition of the metadata may be asked for. */
function asksForMetadata(topics: Topics): boolean {
  const [{ topicName, partitions } = { topicName: '', partitions: [] }] = topics
  if (topics.length !== 1 || topicName !== METADATA_TOPIC) return false
  return partitions.length === 1 && partitions[0].partitionIndex === 0
}

function refuseAll(topics: Topics) {
  return topics.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map(({ partitionIndex }) => ({
      partitionIndex,
      errorCode: ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION,
      errorMessage: 'This server does not host this topic-partition.',
    })),
  }))
}
