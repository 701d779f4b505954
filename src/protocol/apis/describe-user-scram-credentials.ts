import { api, array, int8, int16, int32, string, struct } from '../dsl.ts'

/** Which SCRAM mechanisms users have credentials for (KIP-554); the credentials themselves are never told. */
export const describeUserScramCredentials = api({
  key: 50,
  name: 'DescribeUserScramCredentials',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    // Null or empty: all users.
    users: array(
      struct({
        name: string(),
      }),
    ).nullable(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable(),
    results: array(
      struct({
        user: string(),
        errorCode: int16(),
        errorMessage: string().nullable(),
        credentialInfos: array(
          struct({
            // 1: SCRAM-SHA-256, 2: SCRAM-SHA-512.
            mechanism: int8(),
            iterations: int32(),
          }),
        ),
      }),
    ),
  }),
})
