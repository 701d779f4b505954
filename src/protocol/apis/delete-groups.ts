import { api, array, int16, int32, string, struct } from '../dsl.ts'

/** Deletes groups with their offsets (KIP-229). Version 2 is flexible, 3 has error messages. */
export const deleteGroups = api({
  key: 42,
  name: 'DeleteGroups',
  versions: [0, 3],
  flexible: 2,
  request: struct({
    groupsNames: array(string()),
  }),
  response: struct({
    throttleTimeMs: int32(),
    results: array(
      struct({
        groupId: string(),
        errorCode: int16(),
        errorMessage: string().since(3).nullable(3).default(null).ignorable(),
      }),
    ),
  }),
})
