import type { ControllerMessages } from '../../broker/link.ts'
import type { PartitionImage } from '../../broker/metadata/image.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'
import { checkReplicas } from './placement.ts'

/**
 * Gives partitions other replicas (KIP-455, `ReplicationControlManager.alterPartitionReassignments`). Another order of the same
 * brokers, which says who is preferred as leader, is done when it is decided; so there is never a move to cancel.
 */

type Message = ControllerMessages['alterPartitionReassignments']['request']
type Reply = ControllerMessages['alterPartitionReassignments']['reply']

export function alterPartitionReassignmentsDecision({ request }: Message, context: DecisionContext): Reply {
  const { allowReplicationFactorChange, topics } = request
  const responses = topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, replicas }) => {
      try {
        reassign(name, partitionIndex, replicas, allowReplicationFactorChange, context)
        return { partitionIndex, errorCode: 0, errorMessage: null }
      } catch (error) {
        if (!(error instanceof KafkaError)) throw error
        const errorMessage = error.message === error.error ? null : error.message
        return { partitionIndex, errorCode: error.code, errorMessage }
      }
    }),
  }))
  return { allowReplicationFactorChange, errorMessage: topics.length === 0 ? '' : null, responses }
}

function reassign(
  name: string,
  partitionId: number,
  replicas: readonly number[] | null,
  mayChangeFactor: boolean,
  { image, append }: DecisionContext,
): void {
  const topic = image.topicsByName.get(name)
  if (topic === undefined) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `Unable to find a topic named ${name}.`)
  }
  const partition: PartitionImage | undefined = topic.partitions[partitionId]
  if (partition === undefined) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `Unable to find partition ${name}:${partitionId}.`)
  }
  if (replicas === null) throw new KafkaError('NO_REASSIGNMENT_IN_PROGRESS')
  const problem = checkReplicas(replicas, replicas.length, id => image.brokers.has(id))
  if (problem !== undefined) throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', problem)
  const present = partition.replicas
  if (!mayChangeFactor && replicas.length !== present.length) {
    const message = `The replication factor is changed from ${present.length} to ${replicas.length}`
    throw new KafkaError('INVALID_REPLICATION_FACTOR', message)
  }
  if (replicas.length !== present.length || !replicas.every(id => present.includes(id))) {
    throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', 'Replicas cannot be moved to other brokers yet.')
  }
  if (replicas.every((id, at) => id === present[at])) return
  const { partitionEpoch } = partition
  append({
    type: 'partition',
    topicId: topic.topicId,
    ...partition,
    replicas: [...replicas],
    partitionEpoch: partitionEpoch + 1,
  })
}
