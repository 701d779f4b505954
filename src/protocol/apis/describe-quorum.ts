import { api, array, int16, int32, int64, string, struct, uint16, uuid } from '../dsl.ts'

/** A voter or observer as the leader of the quorum sees it. */
const replicaState = struct({
  replicaId: int32(),
  replicaDirectoryId: uuid().since(2),
  logEndOffset: int64(),
  lastFetchTimestamp: int64().since(1).default(-1).ignorable(),
  lastCaughtUpTimestamp: int64().since(1).default(-1).ignorable(),
})

const partitionData = struct({
  partitionIndex: int32(),
  errorCode: int16(),
  errorMessage: string().since(2).nullable(2).ignorable(),
  leaderId: int32(),
  leaderEpoch: int32(),
  highWatermark: int64(),
  currentVoters: array(replicaState),
  observers: array(replicaState),
})

/**
 * Describes the quorum of the cluster's metadata (KIP-595). Version 1 tells when replicas last fetched (KIP-836), 2
 * their directory ids, the nodes, and error messages (KIP-853).
 */
export const describeQuorum = api({
  key: 55,
  name: 'DescribeQuorum',
  versions: [0, 2],
  flexible: 0,
  request: struct({
    topics: array(
      struct({
        topicName: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
          }),
        ),
      }),
    ),
  }),
  response: struct({
    errorCode: int16(),
    errorMessage: string().since(2).nullable(2).ignorable(),
    topics: array(
      struct({
        topicName: string(),
        partitions: array(partitionData),
      }),
    ),
    nodes: array(
      struct({
        nodeId: int32(),
        listeners: array(
          struct({
            name: string(),
            host: string(),
            port: uint16(),
          }),
        ),
      }),
    ).since(2),
  }),
})
