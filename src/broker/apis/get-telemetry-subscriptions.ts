import { getTelemetrySubscriptions } from '../../protocol/apis/get-telemetry-subscriptions.ts'
import { randomUuid, ZERO_UUID } from '../../util/uuid.ts'
import { handler } from '../handler.ts'
import { ACCEPTED_COMPRESSION, PUSH_INTERVAL_MS, subscriptionIdOf, telemetryMaxBytes } from './telemetry.ts'

/** Which metrics a client is to push: none. A client that has no id yet gets one. */
export const getTelemetrySubscriptionsHandler = handler(
  getTelemetrySubscriptions,
  (request, { broker, now }) => {
    const asked = request.clientInstanceId
    const clientInstanceId = asked === ZERO_UUID ? randomUuid(() => broker.env.random()) : asked
    broker.telemetryClients.asks(clientInstanceId, now)
    return {
      clientInstanceId,
      subscriptionId: subscriptionIdOf(broker, clientInstanceId),
      acceptedCompressionTypes: ACCEPTED_COMPRESSION,
      pushIntervalMs: PUSH_INTERVAL_MS,
      telemetryMaxBytes: telemetryMaxBytes(broker),
      deltaTemporality: true,
      requestedMetrics: [],
    }
  },
  { listed: false, refuse: (_request, error) => ({ errorCode: error.code }) },
)
