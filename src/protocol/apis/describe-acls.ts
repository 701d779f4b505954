import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/** Finds ACLs. Version 1 has prefixed patterns (KIP-290), 2 is flexible, 3 knows users as resources. */
export const describeAcls = api({
  key: 29,
  name: 'DescribeAcls',
  versions: [1, 3],
  flexible: 2,
  request: struct({
    resourceTypeFilter: int8(),
    // Null: any; so for the principal and the host.
    resourceNameFilter: string().nullable(),
    patternTypeFilter: int8().default(3),
    principalFilter: string().nullable(),
    hostFilter: string().nullable(),
    operation: int8(),
    permissionType: int8(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable(),
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        patternType: int8().default(3),
        acls: array(
          struct({
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
