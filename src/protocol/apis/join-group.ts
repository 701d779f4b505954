import { api, array, bool, bytes, int16, int32, string, struct } from '../dsl.ts'

/**
 * Joins a classic group, and is answered once all members have. Version 1 has a rebalance timeout of its own (KIP-62),
 * 4 gives out the member id first (KIP-394), 5 knows static members (KIP-345), 6 is flexible, 7 names the protocol
 * type (KIP-559), 8 a reason (KIP-800), 9 can tell the leader to leave the assignment as it is (KIP-814).
 */
export const joinGroup = api({
  key: 11,
  name: 'JoinGroup',
  versions: [0, 9],
  flexible: 6,
  request: struct({
    groupId: string(),
    sessionTimeoutMs: int32(),
    // -1: the session timeout, as in version 0.
    rebalanceTimeoutMs: int32().since(1).default(-1).ignorable(),
    memberId: string(),
    groupInstanceId: string().since(5).nullable(5).default(null),
    protocolType: string(),
    protocols: array(
      struct({
        name: string(),
        metadata: bytes(),
      }),
    ),
    reason: string().since(8).nullable(8).default(null).ignorable(),
  }),
  response: struct({
    throttleTimeMs: int32().since(2).ignorable(),
    errorCode: int16(),
    generationId: int32().default(-1),
    protocolType: string().since(7).nullable(7).default(null).ignorable(),
    protocolName: string().nullable(7),
    leader: string(),
    skipAssignment: bool().since(9),
    memberId: string(),
    // Only the leader gets them.
    members: array(
      struct({
        memberId: string(),
        groupInstanceId: string().since(5).nullable(5).default(null).ignorable(),
        metadata: bytes(),
      }),
    ),
  }),
})
