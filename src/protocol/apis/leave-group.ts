import { api, array, int16, int32, string, struct } from '../dsl.ts'

/**
 * Leaves a classic group. Version 3 takes several members, also by instance id (KIP-345), 4 is flexible, 5 takes a
 * reason (KIP-800).
 */
export const leaveGroup = api({
  key: 13,
  name: 'LeaveGroup',
  versions: [0, 5],
  flexible: 4,
  request: struct({
    groupId: string(),
    memberId: string().until(2),
    members: array(
      struct({
        memberId: string(),
        groupInstanceId: string().nullable().default(null),
        reason: string().since(5).nullable(5).default(null).ignorable(),
      }),
    ).since(3),
  }),
  response: struct({
    throttleTimeMs: int32().since(1).ignorable(),
    errorCode: int16(),
    members: array(
      struct({
        memberId: string(),
        groupInstanceId: string().nullable(),
        errorCode: int16(),
      }),
    ).since(3),
  }),
})
