import { api, array, bool, int16, int32, int64, string, struct, uuid } from '../dsl.ts'

const offsetFetchResponsePartition = struct({
  partitionIndex: int32(),
  committedOffset: int64(),
  committedLeaderEpoch: int32().since(5).default(-1).ignorable(),
  metadata: string().nullable(),
  errorCode: int16(),
})

const offsetFetchResponseTopics = struct({
  name: string().until(9).ignorable(),
  topicId: uuid().since(10).ignorable(),
  partitions: array(
    struct({
      partitionIndex: int32(),
      committedOffset: int64(),
      committedLeaderEpoch: int32().default(-1),
      metadata: string().nullable(),
      errorCode: int16(),
    }),
  ),
})

/**
 * Reads what {@link offsetCommit} stored. Version 2 can ask for all topics, 5 gives leader epochs (KIP-320), 6 is
 * flexible, 7 can wait for open transactions (KIP-447), 8 asks for several groups at once (KIP-709), 9 names the
 * member (KIP-848), 10 names topics by id.
 */
export const offsetFetch = api({
  key: 9,
  name: 'OffsetFetch',
  versions: [1, 10],
  flexible: 6,
  request: struct({
    groupId: string().until(7),
    // Null asks for everything that the group has committed.
    topics: array(
      struct({
        name: string(),
        partitionIndexes: array(int32()),
      }),
    )
      .until(7)
      .nullable(2),
    groups: array(
      struct({
        groupId: string(),
        memberId: string().since(9).nullable(9).default(null).ignorable(),
        memberEpoch: int32().since(9).default(-1).ignorable(),
        // Null asks for everything that the group has committed.
        topics: array(
          struct({
            name: string().until(9).ignorable(),
            topicId: uuid().since(10).ignorable(),
            partitionIndexes: array(int32()),
          }),
        ).nullable(),
      }),
    ).since(8),
    requireStable: bool().since(7),
  }),
  response: struct({
    throttleTimeMs: int32().since(3).ignorable(),
    topics: array(
      struct({
        name: string(),
        partitions: array(offsetFetchResponsePartition),
      }),
    ).until(7),
    errorCode: int16().since(2).until(7).ignorable(),
    groups: array(
      struct({
        groupId: string(),
        topics: array(offsetFetchResponseTopics),
        errorCode: int16(),
      }),
    ).since(8),
  }),
})
