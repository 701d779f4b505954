import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/** Lists things that have configurations. Version 0 knows client metrics only (KIP-714), 1 all types (KIP-1142). */
export const listConfigResources = api({
  key: 74,
  name: 'ListConfigResources',
  versions: [0, 1],
  flexible: 0,
  request: struct({
    // Empty asks for all.
    resourceTypes: array(int8()).since(1),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    configResources: array(
      struct({
        resourceName: string(),
        resourceType: int8().since(1).default(16).ignorable(),
      }),
    ),
  }),
})
