import { api, array, int16, int32, int64, string, struct } from '../dsl.ts'

/** Moves the log start offset of partitions up (KIP-107). Version 2 is flexible. */
export const deleteRecords = api({
  key: 21,
  name: 'DeleteRecords',
  versions: [0, 2],
  flexible: 2,
  request: struct({
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            // Records before it go; -1: all below the high watermark.
            offset: int64(),
          }),
        ),
      }),
    ),
    timeoutMs: int32(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            lowWatermark: int64(),
            errorCode: int16(),
          }),
        ),
      }),
    ),
  }),
})
