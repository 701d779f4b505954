import { api, array, bytes, int16, int32, int64, string, struct } from '../dsl.ts'

/** Finds delegation tokens by their owners (KIP-48). Version 2 is flexible, 3 tells who asked for it (KIP-373). */
export const describeDelegationToken = api({
  key: 41,
  name: 'DescribeDelegationToken',
  versions: [1, 3],
  flexible: 2,
  request: struct({
    // Null: all tokens that may be seen.
    owners: array(
      struct({
        principalType: string(),
        principalName: string(),
      }),
    ).nullable(),
  }),
  response: struct({
    errorCode: int16(),
    tokens: array(
      struct({
        principalType: string(),
        principalName: string(),
        tokenRequesterPrincipalType: string().since(3),
        tokenRequesterPrincipalName: string().since(3),
        issueTimestamp: int64(),
        expiryTimestamp: int64(),
        maxTimestamp: int64(),
        tokenId: string(),
        hmac: bytes(),
        renewers: array(
          struct({
            principalType: string(),
            principalName: string(),
          }),
        ),
      }),
    ),
    throttleTimeMs: int32(),
  }),
})
