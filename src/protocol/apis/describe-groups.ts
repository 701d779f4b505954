import { api, array, bool, bytes, int16, int32, string, struct } from '../dsl.ts'

const describedGroupMember = struct({
  memberId: string(),
  groupInstanceId: string().since(4).nullable(4).default(null).ignorable(),
  clientId: string(),
  clientHost: string(),
  memberMetadata: bytes(),
  memberAssignment: bytes(),
})

/**
 * Describes classic groups and their members. Version 3 tells authorized operations (KIP-430), 4 instance ids
 * (KIP-345), 5 is flexible, 6 says GROUP_ID_NOT_FOUND where older ones call a missing group dead (KIP-1043).
 */
export const describeGroups = api({
  key: 15,
  name: 'DescribeGroups',
  versions: [0, 6],
  flexible: 5,
  request: struct({
    groups: array(string()),
    includeAuthorizedOperations: bool().since(3),
  }),
  response: struct({
    throttleTimeMs: int32().since(1).ignorable(),
    groups: array(
      struct({
        errorCode: int16(),
        errorMessage: string().since(6).nullable(6).default(null),
        groupId: string(),
        groupState: string(),
        protocolType: string(),
        protocolData: string(),
        members: array(describedGroupMember),
        authorizedOperations: int32().since(3).default(-2147483648),
      }),
    ),
  }),
})
