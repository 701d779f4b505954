import { api, array, int16, int32, string, struct } from '../dsl.ts'

/** Moves replicas to another log directory of the same broker (KIP-113). Version 2 is flexible. */
export const alterReplicaLogDirs = api({
  key: 34,
  name: 'AlterReplicaLogDirs',
  versions: [1, 2],
  flexible: 2,
  request: struct({
    dirs: array(
      struct({
        path: string(),
        topics: array(
          struct({
            name: string(),
            partitions: array(int32()),
          }),
        ),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    results: array(
      struct({
        topicName: string(),
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
