import { offsetForLeaderEpoch } from '../../protocol/apis/offset-for-leader-epoch.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'

/** Tells where a leader epoch ended, so that a client finds out whether its log was cut (KIP-320). */
export const offsetForLeaderEpochHandler = handler(offsetForLeaderEpoch, (request, { broker }) => ({
  topics: request.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
      try {
        const { log } = broker.replicas.leader(topic, partition, currentLeaderEpoch)
        return { partition, errorCode: 0, ...log.endOffsetForEpoch(leaderEpoch) }
      } catch (error) {
        if (!(error instanceof KafkaError)) throw error
        return { partition, errorCode: error.code }
      }
    }),
  })),
}))
