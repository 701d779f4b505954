import { api, array, bool, float64, int8, int16, int32, string, struct } from '../dsl.ts'

/** Finds quotas by the entity they are for (KIP-546). Version 1 is flexible. */
export const describeClientQuotas = api({
  key: 48,
  name: 'DescribeClientQuotas',
  versions: [0, 1],
  flexible: 1,
  request: struct({
    components: array(
      struct({
        entityType: string(),
        // 0: this name, 1: the default, 2: any name.
        matchType: int8(),
        match: string().nullable(),
      }),
    ),
    strict: bool(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable(),
    // Null beside an error.
    entries: array(
      struct({
        entity: array(
          struct({
            entityType: string(),
            entityName: string().nullable(),
          }),
        ),
        values: array(
          struct({
            key: string(),
            value: float64(),
          }),
        ),
      }),
    ).nullable(),
  }),
})
