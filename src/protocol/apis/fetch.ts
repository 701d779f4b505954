import { api, array, int8, int16, int32, int64, records, string, struct, uuid } from '../dsl.ts'
import { currentLeader, nodeEndpoint } from './produce.ts'

const fetchPartition = struct({
  partition: int32(),
  currentLeaderEpoch: int32().since(9).default(-1).ignorable(),
  fetchOffset: int64(),
  lastFetchedEpoch: int32().since(12).default(-1),
  logStartOffset: int64().since(5).default(-1).ignorable(),
  partitionMaxBytes: int32(),
  replicaDirectoryId: uuid().tagged(0, 17).ignorable(),
  highWatermark: int64().tagged(1, 18).default(Number.MAX_SAFE_INTEGER).ignorable(),
})

const partitionData = struct({
  partitionIndex: int32(),
  errorCode: int16(),
  highWatermark: int64(),
  lastStableOffset: int64().default(-1),
  logStartOffset: int64().since(5).default(-1).ignorable(),
  divergingEpoch: struct({
    epoch: int32().default(-1),
    endOffset: int64().default(-1),
  }).tagged(0, 12),
  currentLeader: currentLeader.tagged(1, 12),
  snapshotId: struct({
    endOffset: int64().default(-1),
    epoch: int32().default(-1),
  }).tagged(2, 12),
  abortedTransactions: array(
    struct({
      producerId: int64(),
      firstOffset: int64(),
    }),
  ).nullable(),
  // Where to fetch from instead (KIP-392); -1: here.
  preferredReadReplica: int32().since(11).default(-1),
  records: records().nullable(),
})

/**
 * Reads record batches, waiting for them if asked to. Version 4 has isolation levels (KIP-98), 5 the log start offset,
 * 7 sessions (KIP-227), 9 fences by leader epoch (KIP-320), 11 may send a consumer to a nearer replica (KIP-392), 12
 * is flexible and tells followers where logs part (KIP-595), 13 names topics by id (KIP-516), 15 moves the replica
 * into the tags (KIP-903), 16 names the new leader (KIP-951), 17 and 18 carry a follower's directory id and high
 * watermark.
 */
export const fetch = api({
  key: 1,
  name: 'Fetch',
  versions: [4, 18],
  flexible: 12,
  request: struct({
    clusterId: string().tagged(0, 12).nullable(12).default(null).ignorable(),
    replicaId: int32().until(14).default(-1),
    // Who fetches, when that is a follower.
    replicaState: struct({
      replicaId: int32().default(-1),
      replicaEpoch: int64().default(-1),
    }).tagged(1, 15),
    maxWaitMs: int32(),
    minBytes: int32(),
    maxBytes: int32().default(0x7fffffff),
    // 0: read uncommitted, 1: read committed.
    isolationLevel: int8(),
    // 0 with epoch 0 opens a session, 0 with epoch -1 does without one.
    sessionId: int32().since(7).ignorable(),
    sessionEpoch: int32().since(7).default(-1).ignorable(),
    topics: array(
      struct({
        topic: string().until(12).ignorable(),
        topicId: uuid().since(13).ignorable(),
        partitions: array(fetchPartition),
      }),
    ),
    forgottenTopicsData: array(
      struct({
        topic: string().until(12).ignorable(),
        topicId: uuid().since(13).ignorable(),
        partitions: array(int32()),
      }),
    ).since(7),
    rackId: string().since(11).ignorable(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16().since(7).ignorable(),
    sessionId: int32().since(7),
    responses: array(
      struct({
        topic: string().until(12).ignorable(),
        topicId: uuid().since(13).ignorable(),
        partitions: array(partitionData),
      }),
    ),
    nodeEndpoints: array(nodeEndpoint).tagged(0, 16),
  }),
})
