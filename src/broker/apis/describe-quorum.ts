import { describeQuorum } from '../../protocol/apis/describe-quorum.ts'
import type { Decoded } from '../../protocol/dsl.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'

/** The quorum of controllers (KIP-595): here one that is told as if this broker were it. */

const METADATA_TOPIC = '__cluster_metadata'

type Topics = Decoded<typeof describeQuorum.request>['topics']

export const describeQuorumHandler = handler(
  describeQuorum,
  (request, { broker, now }) => {
    const { metadataOffset, id } = broker
    const voter = { replicaId: id, logEndOffset: metadataOffset, lastFetchTimestamp: now, lastCaughtUpTimestamp: now }
    const node = broker.image.brokers.get(id)
    if (!asksForMetadata(request.topics)) return { errorMessage: '', topics: refuseAll(request.topics) }
    const partition = {
      partitionIndex: 0,
      errorCode: 0,
      errorMessage: '',
      leaderId: id,
      leaderEpoch: 1,
      highWatermark: metadataOffset,
      currentVoters: [voter],
    }
    return {
      errorMessage: '',
      topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }],
      nodes:
        node === undefined
          ? []
          : [{ nodeId: id, listeners: [{ name: 'CONTROLLER', host: node.host, port: node.port }] }],
    }
  },
  {
    differs: [
      'There is one controller, inside the process; it is told as the only voter, with the id of the broker asked.',
    ],
  },
)

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
