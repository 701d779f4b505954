import { findCoordinator } from '../../protocol/apis/find-coordinator.ts'
import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import type { Broker } from '../broker.ts'
import { handler } from '../handler.ts'
import { CONSUMER_OFFSETS } from '../internal-topics.ts'

/**
 * Where a group or a transactional id has its coordinator (`KafkaApis.handleFindCoordinatorRequest`). The topic of the groups
 * is made when it is first asked for; that one answer is COORDINATOR_NOT_AVAILABLE, and clients ask again.
 */

const GROUP = 0
const TRANSACTION = 1

interface Coordinator {
  error: ErrorName
  nodeId: number
  host: string
  port: number
}

export const findCoordinatorHandler = handler(
  findCoordinator,
  (request, { broker, apiVersion }) => {
    if (apiVersion < 4) {
      const { error, ...node } = locate(broker, request.keyType, request.key)
      return { errorCode: ERROR_CODES[error], errorMessage: error, ...node }
    }
    return {
      coordinators: request.coordinatorKeys.map(key => {
        const { error, ...node } = locate(broker, request.keyType, key)
        return { key, errorCode: ERROR_CODES[error], errorMessage: error === 'NONE' ? '' : error, ...node }
      }),
    }
  },
  { differs: ['The coordinator of a transactional id is the broker that is asked, until there are transactions.'] },
)

function locate(broker: Broker, keyType: number, key: string): Coordinator {
  if (keyType === TRANSACTION) return node(broker, broker.id)
  if (keyType !== GROUP) return nowhere('INVALID_REQUEST')
  const topic = broker.image.topicsByName.get(CONSUMER_OFFSETS)
  if (topic === undefined) {
    broker.autoTopics.create(CONSUMER_OFFSETS)
    return nowhere('COORDINATOR_NOT_AVAILABLE')
  }
  return node(broker, topic.partitions[broker.groups.partitionFor(key)]?.leader ?? -1)
}

function node(broker: Broker, nodeId: number): Coordinator {
  const found = broker.image.brokers.get(nodeId)
  if (found === undefined) return nowhere('COORDINATOR_NOT_AVAILABLE')
  return { error: 'NONE', nodeId, host: found.host, port: found.port }
}

function nowhere(error: ErrorName): Coordinator {
  return { error, nodeId: -1, host: '', port: -1 }
}
