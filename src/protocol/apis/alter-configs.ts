import { api, array, bool, int8, int16, int32, string, struct } from '../dsl.ts'

/** Replaces whole configurations. Version 2 is flexible. {@link incrementalAlterConfigs} has taken its place. */
export const alterConfigs = api({
  key: 33,
  name: 'AlterConfigs',
  versions: [0, 2],
  flexible: 2,
  request: struct({
    resources: array(
      struct({
        resourceType: int8(),
        resourceName: string(),
        // The whole configuration: what is left out goes back to its default.
        configs: array(
          struct({
            name: string(),
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
