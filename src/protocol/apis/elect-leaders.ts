import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/** Elects leaders of partitions (KIP-183). Version 1 has unclean elections (KIP-460), 2 is flexible. */
export const electLeaders = api({
  key: 43,
  name: 'ElectLeaders',
  versions: [0, 2],
  flexible: 2,
  request: struct({
    // 0: the preferred leader, 1: unclean.
    electionType: int8().since(1),
    // Null: all partitions.
    topicPartitions: array(
      struct({
        topic: string(),
        partitions: array(int32()),
      }),
    ).nullable(),
    timeoutMs: int32().default(60000),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16().since(1),
    replicaElectionResults: array(
      struct({
        topic: string(),
        partitionResult: array(
          struct({
            partitionId: int32(),
            errorCode: int16(),
            errorMessage: string().nullable(),
          }),
        ),
      }),
    ),
  }),
})
