import { api, array, bytes, int16, int32, string, struct } from '../dsl.ts'

/**
 * Hands out the assignment that the leader of a classic group made. Version 3 knows static members (KIP-345), 4 is
 * flexible, 5 checks type and name of the protocol (KIP-559).
 */
export const syncGroup = api({
  key: 14,
  name: 'SyncGroup',
  versions: [0, 5],
  flexible: 4,
  request: struct({
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string().since(3).nullable(3).default(null),
    protocolType: string().since(5).nullable(5).default(null).ignorable(),
    protocolName: string().since(5).nullable(5).default(null).ignorable(),
    assignments: array(
      struct({
        memberId: string(),
        assignment: bytes(),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32().since(1).ignorable(),
    errorCode: int16(),
    protocolType: string().since(5).nullable(5).default(null).ignorable(),
    protocolName: string().since(5).nullable(5).default(null).ignorable(),
    assignment: bytes(),
  }),
})
