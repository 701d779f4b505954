import { api, array, int16, int32, int64, records, string, struct, uuid } from '../dsl.ts'

/** Who leads instead, beside NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951). */
export const currentLeader = struct({
  leaderId: int32().default(-1),
  leaderEpoch: int32().default(-1),
})

const partitionProduceResponse = struct({
  index: int32(),
  errorCode: int16(),
  baseOffset: int64(),
  logAppendTimeMs: int64().default(-1),
  logStartOffset: int64().since(5).default(-1).ignorable(),
  recordErrors: array(
    struct({
      batchIndex: int32(),
      batchIndexErrorMessage: string().nullable().default(null),
    }),
  )
    .since(8)
    .ignorable(),
  errorMessage: string().since(8).nullable(8).default(null).ignorable(),
  currentLeader: currentLeader.tagged(0, 10),
})

/** Where the nodes named as current leaders can be reached (KIP-951). */
export const nodeEndpoint = struct({
  nodeId: int32(),
  host: string(),
  port: int32(),
  rack: string().nullable().default(null),
})

/**
 * Appends record batches to partitions. Version 5 answers with the log start offset, 8 says which records were refused
 * and why (KIP-467), 9 is flexible, 10 names the new leader (KIP-951), 12 adds partitions to a transaction by itself
 * (KIP-890), 13 names topics by id (KIP-516). Versions 0 to 2 carry old message sets and are not spoken, although
 * ApiVersions lists them: librdkafka would not compress otherwise.
 */
export const produce = api({
  key: 0,
  name: 'Produce',
  versions: [3, 13],
  flexible: 9,
  request: struct({
    transactionalId: string().nullable().default(null),
    // 0: no answer at all, 1: the leader has it, -1: all in-sync replicas have it.
    acks: int16(),
    timeoutMs: int32(),
    topicData: array(
      struct({
        name: string().until(12).ignorable(),
        topicId: uuid().since(13).ignorable(),
        partitionData: array(
          struct({
            index: int32(),
            records: records().nullable(),
          }),
        ),
      }),
    ),
  }),
  response: struct({
    responses: array(
      struct({
        name: string().until(12).ignorable(),
        topicId: uuid().since(13).ignorable(),
        partitionResponses: array(partitionProduceResponse),
      }),
    ),
    throttleTimeMs: int32(),
    nodeEndpoints: array(nodeEndpoint).tagged(0, 10),
  }),
})
