import { api, array, bool, int8, int16, int32, string, struct } from '../dsl.ts'

/** Changes single entries of configurations (KIP-339). Version 1 is flexible. */
export const incrementalAlterConfigs = api({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: [0, 1],
  flexible: 1,
  request: struct({
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        configs: array(
          struct({
            name: string(),
            // 0: set, 1: delete, 2: append to a list, 3: subtract from a list.
            configOperation: int8(),
            value: string().nullable(),
          }),
        ),
      }),
    ),
    validateOnly: bool(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    responses: array(
      struct({
        errorCode: int16(),
        errorMessage: string().nullable(),
        resourceType: int8(),
        resourceName: string(),
      }),
    ),
  }),
})
