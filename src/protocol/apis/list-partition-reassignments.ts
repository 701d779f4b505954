import { api, array, int16, int32, string, struct } from '../dsl.ts'

/** The moves of replicas that are under way (KIP-455). */
export const listPartitionReassignments = api({
  key: 46,
  name: 'ListPartitionReassignments',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    timeoutMs: int32().default(60000),
    // Null: all topics.
    topics: array(
      struct({
        name: string(),
        partitionIndexes: array(int32()),
      }),
    )
      .nullable()
      .default(null),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable(),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            replicas: array(int32()),
            addingReplicas: array(int32()),
            removingReplicas: array(int32()),
          }),
        ),
      }),
    ),
  }),
})
