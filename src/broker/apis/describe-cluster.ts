import { describeCluster } from '../../protocol/apis/describe-cluster.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'
import { CLUSTER_OPERATIONS, NOT_ASKED } from './authorized-operations.ts'

/** The brokers of the cluster and its id (KIP-700). */

const BROKERS = 1
const CONTROLLERS = 2

export const describeClusterHandler = handler(
  describeCluster,
  (request, { broker }) => {
    const { endpointType } = request
    if (endpointType === CONTROLLERS) {
      throw new KafkaError('MISMATCHED_ENDPOINT_TYPE', 'This endpoint is a broker, and a controller was asked for')
    }
    if (endpointType !== BROKERS) {
      throw new KafkaError('UNSUPPORTED_ENDPOINT_TYPE', `Unsupported endpoint type ${endpointType}`)
    }
    const brokers = [...broker.image.brokers.values()].filter(({ fenced }) => !fenced || request.includeFencedBrokers)
    return {
      endpointType: BROKERS,
      clusterId: broker.clusterId,
      controllerId: broker.id,
      brokers: brokers.map(({ brokerId, host, port, rack, fenced }) => ({
        brokerId,
        host,
        port,
        rack,
        isFenced: fenced,
      })),
      clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : NOT_ASKED,
    }
  },
  { refuse: (_request, error) => ({ errorCode: error.code, errorMessage: error.message, endpointType: BROKERS }) },
)
