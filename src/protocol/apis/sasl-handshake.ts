import { api, array, int16, string, struct } from '../dsl.ts'

/** Picks the SASL mechanism before authentication. Version 1 goes on with SaslAuthenticate, 0 with bare tokens. */
export const saslHandshake = api({
  key: 17,
  name: 'SaslHandshake',
  versions: [0, 1],
  flexible: undefined,
  request: struct({
    mechanism: string(),
  }),
  response: struct({
    errorCode: int16(),
    mechanisms: array(string()),
  }),
})
