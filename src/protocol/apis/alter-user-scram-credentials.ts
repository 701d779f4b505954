import { api, array, bytes, int8, int16, int32, string, struct } from '../dsl.ts'

/** Sets and deletes the SCRAM credentials of users (KIP-554). */
export const alterUserScramCredentials = api({
  key: 51,
  name: 'AlterUserScramCredentials',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    deletions: array(
      struct({
        name: string(),
        // 1: SCRAM-SHA-256, 2: SCRAM-SHA-512.
        mechanism: int8(),
      }),
    ),
    upsertions: array(
      struct({
        name: string(),
        mechanism: int8(),
        iterations: int32(),
        salt: bytes(),
        saltedPassword: bytes(),
      }),
    ),
  }),
  response: struct({
    throttleTimeMs: int32(),
    results: array(
      struct({
        user: string(),
        errorCode: int16(),
        errorMessage: string().nullable(),
      }),
    ),
  }),
})
