import { api, int16, int32, string, struct } from '../dsl.ts'

/** Keeps a member of a classic group alive, and tells it of a rebalance. v3 adds the group instance id (KIP-345). */
export const heartbeat = api({
  key: 12,
  name: 'Heartbeat',
  versions: [0, 4],
  flexible: 4,
  request: struct({
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string().since(3).nullable(3).default(null),
  }),
  response: struct({
    throttleTimeMs: int32().since(1).ignorable(),
    errorCode: int16(),
  }),
})
