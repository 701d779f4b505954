import { api, int16, int32, string, struct } from '../dsl.ts'

/** Takes a broker that is gone for good out of the cluster's metadata. There is one version. */
export const unregisterBroker = api({
  key: 64,
  name: 'UnregisterBroker',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    brokerId: int32(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable(),
  }),
})
