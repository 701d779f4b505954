import { api, array, int16, int32, int64, string, struct, uuid } from '../dsl.ts'

const offsetCommitRequestPartition = struct({
  partitionIndex: int32(),
  committedOffset: int64(),
  committedLeaderEpoch: int32().since(6).default(-1).ignorable(),
  committedMetadata: string().nullable(),
})

/**
 * Stores how far a group has come. Version 5 drops the retention time, 6 adds the leader epoch (KIP-320), 7 the group
 * instance id (KIP-345), 8 is flexible, 9 lets in members of the consumer protocol (KIP-848), 10 names topics by id.
 */
export const offsetCommit = api({
  key: 8,
  name: 'OffsetCommit',
  versions: [2, 10],
  flexible: 8,
  request: struct({
    groupId: string(),
    generationIdOrMemberEpoch: int32().default(-1),
    memberId: string(),
    groupInstanceId: string().since(7).nullable(7).default(null),
    // -1: as the broker is configured.
    retentionTimeMs: int64().until(4).default(-1).ignorable(),
    topics: array(
      struct({
        name: string().until(9).ignorable(),
        topicId: uuid().since(10).ignorable(),
        partitions: array(offsetCommitRequestPartition),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32().since(3).ignorable(),
    topics: array(
      struct({
        name: string().until(9).ignorable(),
        topicId: uuid().since(10).ignorable(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            errorCode: int16(),
          }),
        ),
      }),
    ),
  }),
})
