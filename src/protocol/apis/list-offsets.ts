import { api, array, int8, int16, int32, int64, string, struct } from '../dsl.ts'

const listOffsetsPartitionResponse = struct({
  partitionIndex: int32(),
  errorCode: int16(),
  timestamp: int64().default(-1),
  offset: int64().default(-1),
  leaderEpoch: int32().since(4).default(-1),
})

/**
 * Finds offsets by time, or the ends of a partition. Version 2 has isolation levels (KIP-98), 4 leader epochs
 * (KIP-320), 6 is flexible, 7, 8, 9 and 11 each know one more special timestamp, 10 takes a timeout for remote
 * storage.
 */
export const listOffsets = api({
  key: 2,
  name: 'ListOffsets',
  versions: [1, 11],
  flexible: 6,
  request: struct({
    replicaId: int32(),
    isolationLevel: int8().since(2),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            currentLeaderEpoch: int32().since(4).default(-1).ignorable(),
            // Milliseconds, or -1 latest, -2 earliest, -3 max timestamp, -4 earliest local, -5 latest tiered,
            // -6 earliest pending upload.
            timestamp: int64(),
          }),
        ),
      }),
    ),
    timeoutMs: int32().since(10).ignorable(),
  }),
  response: struct({
    throttleTimeMs: int32().since(2).ignorable(),
    topics: array(
      struct({
        name: string(),
        partitions: array(listOffsetsPartitionResponse),
      }),
    ),
  }),
})
