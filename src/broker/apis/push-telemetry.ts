import { pushTelemetry } from '../../protocol/apis/push-telemetry.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import { handler } from '../handler.ts'
import { subscriptionIdOf, telemetryMaxBytes } from './telemetry.ts'

/** A client's metrics: checked as Kafka checks them, and dropped. */
export const pushTelemetryHandler = handler(
  pushTelemetry,
  (request, { broker, now }) => {
    if (request.clientInstanceId === ZERO_UUID) throw new KafkaError('INVALID_REQUEST')
    broker.telemetryClients.pushes(request.clientInstanceId, now, request.terminating)
    if (request.subscriptionId !== subscriptionIdOf(broker, request.clientInstanceId)) {
      throw new KafkaError('UNKNOWN_SUBSCRIPTION_ID')
    }
    if (request.compressionType < 0 || request.compressionType > 4) throw new KafkaError('UNSUPPORTED_COMPRESSION_TYPE')
    if (request.metrics.length > telemetryMaxBytes(broker)) throw new KafkaError('TELEMETRY_TOO_LARGE')
    if (request.terminating) broker.telemetryClients.ends(request.clientInstanceId)
    return { errorCode: 0 }
  },
  {
    listed: false,
    differs: ['Metrics are dropped.'],
    refuse: (_request, error) => ({ errorCode: error.code }),
  },
)
