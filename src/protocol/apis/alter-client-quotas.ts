import { api, array, bool, float64, int16, int32, string, struct } from '../dsl.ts'

/** Sets and removes quotas (KIP-546). Version 1 is flexible. */
export const alterClientQuotas = api({
  key: 49,
  name: 'AlterClientQuotas',
  versions: [0, 1],
  flexible: 1,
  request: struct({
    entries: array(
      struct({
        entity: array(
          struct({
            entityType: string(),
            // Null: the default of the type.
            entityName: string().nullable(),
          }),
        ),
        ops: array(
          struct({
            key: string(),
            value: float64(),
            remove: bool(),
          }),
        ),
      }),
    ),
    validateOnly: bool(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    entries: array(
      struct({
        errorCode: int16(),
        errorMessage: string().nullable(),
        entity: array(
          struct({
            entityType: string(),
            entityName: string().nullable(),
          }),
        ),
      }),
    ),
  }),
})
