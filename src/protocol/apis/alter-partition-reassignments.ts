import { api, array, bool, int16, int32, string, struct } from '../dsl.ts'

/** Moves replicas of partitions (KIP-455). Version 1 can forbid another replication factor (KIP-860). */
export const alterPartitionReassignments = api({
  key: 45,
  name: 'AlterPartitionReassignments',
  versions: [0, 1],
  flexible: 0,
  request: struct({
    timeoutMs: int32().default(60000),
    allowReplicationFactorChange: bool().since(1).default(true),
    topics: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            // Null: cancels the move that is under way.
            replicas: array(int32()).nullable().default(null),
          }),
        ),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    allowReplicationFactorChange: bool().since(1).default(true).ignorable(),
    errorCode: int16(),
    errorMessage: string().nullable(),
    responses: array(
      struct({
        name: string(),
        partitions: array(
          struct({
            partitionIndex: int32(),
            errorCode: int16(),
            errorMessage: string().nullable(),
          }),
        ),
      }),
    ),
  }),
})
