import { api, array, int16, int32, string, struct } from '../dsl.ts'

/** Deletes committed offsets of a group (KIP-496). There is one version, and it is not flexible. */
export const offsetDelete = api({
  key: 47,
  name: 'OffsetDelete',
  versions: [0, 0],
  flexible: undefined,
  request: struct({
    groupId: string(),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
          }),
        ),
      }),
    ),
  }),
  response: struct({
    errorCode: int16(),
    throttleTimeMs: int32(),
    topics: array(
      struct({
        name: string(),
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
