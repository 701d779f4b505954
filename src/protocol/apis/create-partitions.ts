import { api, array, bool, int16, int32, string, struct } from '../dsl.ts'

/** Adds partitions to topics (KIP-195). Version 2 is flexible, 3 may be throttled (KIP-599). */
export const createPartitions = api({
  key: 37,
  name: 'CreatePartitions',
  versions: [0, 3],
  flexible: 2,
  request: struct({
    topics: array(
      struct({
        name: string(),
        count: int32(),
        // Replicas of each new partition; null lets the broker choose.
        assignments: array(
          struct({
            brokerIds: array(int32()),
          }),
        ).nullable(),
      }),
    ),
    timeoutMs: int32(),
    validateOnly: bool(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    results: array(
      struct({
        name: string(),
        errorCode: int16(),
        errorMessage: string().nullable().default(null),
      }),
    ),
  }),
})
