import { api, array, int16, int32, string, struct } from '../dsl.ts'

/**
 * Lists the groups that this broker coordinates. Version 3 is flexible, 4 filters by state (KIP-518), 5 by type
 * (KIP-848).
 */
export const listGroups = api({
  key: 16,
  name: 'ListGroups',
  versions: [0, 5],
  flexible: 3,
  request: struct({
    statesFilter: array(string()).since(4),
    typesFilter: array(string()).since(5),
  }),
  response: struct({
    throttleTimeMs: int32().since(1).ignorable(),
    errorCode: int16(),
    groups: array(
      struct({
        groupId: string(),
        protocolType: string(),
        groupState: string().since(4).ignorable(),
        groupType: string().since(5).ignorable(),
      }),
    ),
  }),
})
