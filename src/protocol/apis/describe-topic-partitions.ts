import { api, array, bool, int16, int32, string, struct, uuid } from '../dsl.ts'

const describeTopicPartitionsResponsePartition = struct({
  errorCode: int16(),
  partitionIndex: int32(),
  leaderId: int32(),
  leaderEpoch: int32().default(-1),
  replicaNodes: array(int32()),
  isrNodes: array(int32()),
  eligibleLeaderReplicas: array(int32()).nullable().default(null),
  lastKnownElr: array(int32()).nullable().default(null),
  offlineReplicas: array(int32()),
})

/** Describes topics page by page, with eligible leader replicas (KIP-966). There is one version. */
export const describeTopicPartitions = api({
  key: 75,
  name: 'DescribeTopicPartitions',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    // Empty asks for all, in the order of their names.
    topics: array(
      struct({
        name: string(),
      }),
    ),
    responsePartitionLimit: int32().default(2000),
    // Where to go on: the next cursor of the page before.
    cursor: struct({
      topicName: string(),
      partitionIndex: int32(),
    })
      .nullable()
      .default(null),
  }),
  response: struct({
    throttleTimeMs: int32(),
    topics: array(
      struct({
        errorCode: int16(),
        name: string().nullable(),
        topicId: uuid(),
        isInternal: bool(),
        partitions: array(describeTopicPartitionsResponsePartition),
        topicAuthorizedOperations: int32().default(-2147483648),
      }),
    ),
    // Null: that was all.
    nextCursor: struct({
      topicName: string(),
      partitionIndex: int32(),
    })
      .nullable()
      .default(null),
  }),
})
