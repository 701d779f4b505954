import { api, array, int16, int32, int64, string, struct } from '../dsl.ts'

const epochEndOffset = struct({
  errorCode: int16(),
  partition: int32(),
  leaderEpoch: int32().default(-1),
  endOffset: int64().default(-1),
})

/**
 * Tells where the records of a leader epoch end (KIP-101), so that a follower or consumer finds where its log parts
 * from the leader's. Version 3 says who asks, 4 is flexible.
 */
export const offsetForLeaderEpoch = api({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: [2, 4],
  flexible: 4,
  request: struct({
    // -1: a consumer, -2: a tool.
    replicaId: int32().since(3).default(-2).ignorable(),
    topics: array(
      struct({
        topic: string(),
        partitions: array(
          struct({
            partition: int32(),
            currentLeaderEpoch: int32().default(-1),
            leaderEpoch: int32(),
          }),
        ),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    topics: array(
      struct({
        topic: string(),
        partitions: array(epochEndOffset),
      }),
    ),
  }),
})
