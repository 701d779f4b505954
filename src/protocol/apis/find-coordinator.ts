import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/**
 * Finds the broker that coordinates a group or a transactional id. Version 1 knows transactions (KIP-98), 3 is
 * flexible, 4 asks for several at once (KIP-699), 6 knows share partitions (KIP-932).
 */
export const findCoordinator = api({
  key: 10,
  name: 'FindCoordinator',
  versions: [0, 6],
  flexible: 3,
  request: struct({
    key: string().until(3),
    // 0: group, 1: transaction, 2: share partition.
    keyType: int8().since(1),
    coordinatorKeys: array(string()).since(4),
  }),
  response: struct({
    throttleTimeMs: int32().since(1).ignorable(),
    errorCode: int16().until(3),
    errorMessage: string().since(1).until(3).nullable(1).ignorable(),
    nodeId: int32().until(3),
    host: string().until(3),
    port: int32().until(3),
    coordinators: array(
      struct({
        key: string(),
        nodeId: int32(),
        host: string(),
        port: int32(),
        errorCode: int16(),
        errorMessage: string().nullable(),
      }),
    ).since(4),
  }),
})
