import { coordinatorPartition } from '../../core/java-hash.ts'
import { findCoordinator } from '../../protocol/apis/find-coordinator.ts'
import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import type { Broker } from '../broker.ts'
import { handler } from '../handler.ts'
import { CONSUMER_OFFSETS } from '../internal-topics.ts'
import { isActive } from '../metadata/image.ts'

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
        return { key, errorCode: ERROR_CODES[error], errorMessage: error === 'INVALID_REQUEST' ? error : '', ...node }
      }),
    }
  },
  {
    differs: [
      'Until there are transactions a transactional id has no coordinator: whom the answer names will refuse InitProducerId. ' +
        'It is one of the brokers that run, the same whoever is asked, and another when brokers come or go; `__transaction_state` is not made.',
    ],
  },
)

function locate(broker: Broker, keyType: number, key: string): Coordinator {
  if (keyType === TRANSACTION) return node(broker, refuserOf(broker, key))
  if (keyType !== GROUP) return nowhere('INVALID_REQUEST')
  const topic = broker.image.topicsByName.get(CONSUMER_OFFSETS)
  if (topic === undefined) {
    broker.autoTopics.create(CONSUMER_OFFSETS)
    return nowhere('COORDINATOR_NOT_AVAILABLE')
  }
  return node(broker, topic.partitions[broker.groups.partitionFor(key)]?.leader ?? -1)
}

/**
 * Any broker can say that there are no transactions. All name the same one nevertheless, as they do in Kafka: two that each
 * name themselves would look like a cluster whose brokers know different things.
 */
function refuserOf({ image }: Broker, transactionalId: string): number {
  const active = [...image.brokers.values()].filter(isActive).map(({ brokerId }) => brokerId)
  active.sort((a, b) => a - b)
  return active[coordinatorPartition(transactionalId, active.length)] ?? -1
}

function node(broker: Broker, nodeId: number): Coordinator {
  const found = broker.image.brokers.get(nodeId)
  if (found === undefined) return nowhere('COORDINATOR_NOT_AVAILABLE')
  return { error: 'NONE', nodeId, host: found.host, port: found.port }
}

function nowhere(error: ErrorName): Coordinator {
  return { error, nodeId: -1, host: '', port: -1 }
}
