import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/** Deletes ACLs by filters. Version 1 has prefixed patterns (KIP-290), 2 is flexible, 3 knows users as resources. */
export const deleteAcls = api({
  key: 31,
  name: 'DeleteAcls',
  versions: [1, 3],
  flexible: 2,
  request: struct({
    filters: array(
      struct({
        resourceTypeFilter: int8(),
        // Null: any; so for the principal and the host.
        resourceNameFilter: string().nullable(),
        patternTypeFilter: int8().default(3),
        principalFilter: string().nullable(),
        hostFilter: string().nullable(),
        operation: int8(),
        permissionType: int8(),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    filterResults: array(
      struct({
        errorCode: int16(),
        errorMessage: string().nullable(),
        matchingAcls: array(
          struct({
            errorCode: int16(),
            errorMessage: string().nullable(),
            resourceType: int8(),
            resourceName: string(),
            patternType: int8().default(3),
            principal: string(),
            host: string(),
            operation: int8(),
            permissionType: int8(),
          }),
        ),
      }),
    ),
  }),
})
