import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/** Makes ACLs. Version 1 has prefixed patterns (KIP-290), 2 is flexible, 3 knows users as resources. */
export const createAcls = api({
  key: 30,
  name: 'CreateAcls',
  versions: [1, 3],
  flexible: 2,
  request: struct({
    creations: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        resourcePatternType: int8().default(3),
        principal: string(),
        host: string(),
        operation: int8(),
        permissionType: int8(),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    results: array(
      struct({
        errorCode: int16(),
        errorMessage: string().nullable(),
      }),
    ),
  }),
})
