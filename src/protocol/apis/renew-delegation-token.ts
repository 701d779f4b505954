import { api, bytes, int16, int32, int64, struct } from '../dsl.ts'

/** Gives a delegation token more time (KIP-48). Version 2 is flexible. */
export const renewDelegationToken = api({
  key: 39,
  name: 'RenewDelegationToken',
  versions: [1, 2],
  flexible: 2,
  request: struct({
    hmac: bytes(),
    renewPeriodMs: int64(),
  }),
  response: struct({
    errorCode: int16(),
    expiryTimestampMs: int64(),
    throttleTimeMs: int32(),
  }),
})
