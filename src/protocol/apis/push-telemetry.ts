import { api, bool, bytes, int8, int16, int32, struct, uuid } from '../dsl.ts'

/** Sends a client's metrics (KIP-714). There is one version. */
export const pushTelemetry = api({
  key: 72,
  name: 'PushTelemetry',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    clientInstanceId: uuid(),
    subscriptionId: int32(),
    terminating: bool(),
    compressionType: int8(),
    // OTLP, compressed as `compressionType` says.
    metrics: bytes(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
  }),
})
