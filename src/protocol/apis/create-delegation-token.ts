import { api, array, bytes, int16, int32, int64, string, struct } from '../dsl.ts'

/** Makes a delegation token (KIP-48). Version 2 is flexible, 3 makes it for another owner (KIP-373). */
export const createDelegationToken = api({
  key: 38,
  name: 'CreateDelegationToken',
  versions: [1, 3],
  flexible: 2,
  request: struct({
    ownerPrincipalType: string().since(3).nullable(),
    ownerPrincipalName: string().since(3).nullable(),
    renewers: array(
      struct({
        principalType: string(),
        principalName: string(),
      }),
    ),
    maxLifetimeMs: int64(),
  }),
  response: struct({
    errorCode: int16(),
    principalType: string(),
    principalName: string(),
    tokenRequesterPrincipalType: string().since(3),
    tokenRequesterPrincipalName: string().since(3),
    issueTimestampMs: int64(),
    expiryTimestampMs: int64(),
    maxTimestampMs: int64(),
    tokenId: string(),
    hmac: bytes(),
    throttleTimeMs: int32(),
  }),
})
