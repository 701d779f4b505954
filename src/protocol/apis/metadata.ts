import { api, array, bool, int16, int32, string, struct, uuid } from '../dsl.ts'

const metadataResponsePartition = struct({
  errorCode: int16(),
  partitionIndex: int32(),
  leaderId: int32(),
  leaderEpoch: int32().since(7).default(-1).ignorable(),
  replicaNodes: array(int32()),
  isrNodes: array(int32()),
  offlineReplicas: array(int32()).since(5).ignorable(),
})

/**
 * Tells who the brokers are, and who leads which partition. Version 1 can ask for no topic at all and names the
 * controller, 4 may forbid that topics are created by asking, 5 tells offline replicas, 7 leader epochs, 8 authorized
 * operations (KIP-430), 9 is flexible, 10 and 12 bring topic ids (KIP-516), 13 has an error of its own (KIP-1102).
 */
export const metadata = api({
  key: 3,
  name: 'Metadata',
  versions: [0, 13],
  flexible: 9,
  request: struct({
    // Null asks for all topics; version 0 has no null and asks for all with an empty list.
    topics: array(
      struct({
        topicId: uuid().since(10).ignorable(),
        name: string().nullable(10),
      }),
    ).nullable(1),
    allowAutoTopicCreation: bool().since(4).default(true),
    includeClusterAuthorizedOperations: bool().since(8).until(10),
    includeTopicAuthorizedOperations: bool().since(8),
  }),
  response: struct({
    throttleTimeMs: int32().since(3).ignorable(),
    brokers: array(
      struct({
        nodeId: int32(),
        host: string(),
        port: int32(),
        rack: string().since(1).nullable(1).default(null).ignorable(),
      }),
    ),
    clusterId: string().since(2).nullable(2).default(null).ignorable(),
    controllerId: int32().since(1).default(-1).ignorable(),
    topics: array(
      struct({
        errorCode: int16(),
        name: string().nullable(12),
        topicId: uuid().since(10).ignorable(),
        isInternal: bool().since(1).ignorable(),
        partitions: array(metadataResponsePartition),
        topicAuthorizedOperations: int32().since(8).default(-2147483648),
      }),
    ),
    clusterAuthorizedOperations: int32().since(8).until(10).default(-2147483648),
    errorCode: int16().since(13).ignorable(),
  }),
})
