import { api, bytes, int16, int64, string, struct } from '../dsl.ts'

/** One token of a SASL exchange. Version 1 tells how long the session may last (KIP-368), 2 is flexible. */
export const saslAuthenticate = api({
  key: 36,
  name: 'SaslAuthenticate',
  versions: [0, 2],
  flexible: 2,
  request: struct({
    authBytes: bytes(),
  }),
  response: struct({
    errorCode: int16(),
    errorMessage: string().nullable(),
    authBytes: bytes(),
    // 0: for as long as the connection lives.
    sessionLifetimeMs: int64().since(1).ignorable(),
  }),
})
