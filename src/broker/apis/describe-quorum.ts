import { describeQuorum } from '../../protocol/apis/describe-quorum.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'

/** The quorum of controllers (KIP-595): here one that is told as if this broker were it. */

const METADATA_TOPIC = '__cluster_metadata'

export const describeQuorumHandler = handler(
  describeQuorum,
  (request, { broker, now }) => {
    const { metadataOffset, id } = broker
    const voter = { replicaId: id, logEndOffset: metadataOffset, lastFetchTimestamp: now, lastCaughtUpTimestamp: now }
    const node = broker.image.brokers.get(id)
    return {
      errorMessage: '',
      topics: request.topics.map(({ topicName, partitions }) => ({
        topicName,
        partitions: partitions.map(({ partitionIndex }) => {
          if (topicName !== METADATA_TOPIC || partitionIndex !== 0) {
            return { partitionIndex, errorCode: ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: null }
          }
          return {
            partitionIndex,
            errorCode: 0,
            errorMessage: '',
            leaderId: id,
            leaderEpoch: 1,
            highWatermark: metadataOffset,
            currentVoters: [voter],
          }
        }),
      })),
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
