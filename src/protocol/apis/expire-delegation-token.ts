import { api, bytes, int16, int32, int64, struct } from '../dsl.ts'

/** Ends a delegation token, now or later (KIP-48). Version 2 is flexible. */
export const expireDelegationToken = api({
  key: 40,
  name: 'ExpireDelegationToken',
  versions: [1, 2],
  flexible: 2,
  request: struct({
    hmac: bytes(),
    expiryTimePeriodMs: int64(),
  }),
  response: struct({
    errorCode: int16(),
    expiryTimestampMs: int64(),
    throttleTimeMs: int32(),
  }),
})
