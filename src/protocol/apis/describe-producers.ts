import { api, array, int16, int32, int64, string, struct } from '../dsl.ts'

const partitionResponse = struct({
  partitionIndex: int32(),
  errorCode: int16(),
  errorMessage: string().nullable().default(null),
  activeProducers: array(
    struct({
      producerId: int64(),
      producerEpoch: int32(),
      lastSequence: int32().default(-1),
      lastTimestamp: int64().default(-1),
      coordinatorEpoch: int32(),
      currentTxnStartOffset: int64().default(-1),
    }),
  ),
})

/** Tells which producers a partition knows (KIP-664). There is one version. */
export const describeProducers = api({
  key: 61,
  name: 'DescribeProducers',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    topics: array(
      struct({
        name: string(),
        partitionIndexes: array(int32()),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    topics: array(
      struct({
        name: string(),
        partitions: array(partitionResponse),
      }),
    ),
  }),
})
