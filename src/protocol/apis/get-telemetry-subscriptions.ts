import { api, array, bool, int8, int16, int32, string, struct, uuid } from '../dsl.ts'

/** Asks which metrics a client is to send, and how often (KIP-714). There is one version. */
export const getTelemetrySubscriptions = api({
  key: 71,
  name: 'GetTelemetrySubscriptions',
  versions: [0, 0],
  flexible: 0,
  request: struct({
    // All zero the first time: the broker then gives one.
    clientInstanceId: uuid(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    clientInstanceId: uuid(),
    subscriptionId: int32(),
    acceptedCompressionTypes: array(int8()),
    pushIntervalMs: int32(),
    telemetryMaxBytes: int32(),
    deltaTemporality: bool(),
    requestedMetrics: array(string()),
  }),
})
