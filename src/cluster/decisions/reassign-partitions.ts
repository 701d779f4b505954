import type { ControllerMessages } from '../../broker/link.ts'
import type { PartitionImage } from '../../broker/metadata/image.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'
import { rulesOf } from './broker-changes.ts'
import { changePartition, type PartitionChange } from './partition-change.ts'
import { checkReplicas } from './placement.ts'

/**
 * Gives partitions other replicas (KIP-455, `ReplicationControlManager.alterPartitionReassignments`). New ones are added and fetch;
 * once they are in sync the old ones go. A move that is under way can be cancelled, or replaced by another.
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
  context: DecisionContext,
): void {
  const topic = context.image.topicsByName.get(name)
  if (topic === undefined) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `Unable to find a topic named ${name}.`)
  }
  const partition: PartitionImage | undefined = topic.partitions[partitionId]
  if (partition === undefined) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `Unable to find partition ${name}:${partitionId}.`)
  }
  const change =
    replicas === null ? cancelled(name, partition, context) : moved(partition, replicas, mayChangeFactor, context)
  const next = changePartition(partition, change, rulesOf(topic, partitionId, context))
  if (next !== undefined) context.append({ type: 'partition', topicId: topic.topicId, ...next })
}

/** Back to the replicas of before: those that were to come go, those that were to go stay. */
function cancelled(name: string, partition: PartitionImage, context: DecisionContext): PartitionChange {
  const { addingReplicas, removingReplicas, replicas, isr } = partition
  if (addingReplicas.length === 0 && removingReplicas.length === 0) throw new KafkaError('NO_REASSIGNMENT_IN_PROGRESS')
  const old = replicas.filter(id => !addingReplicas.includes(id))
  const inSync = isr.filter(id => !addingReplicas.includes(id))
  const isUnclean = inSync.length === 0
  if (isUnclean && !context.topicConfig(name).boolean('unclean.leader.election.enable')) {
    const message = `Unable to revert partition assignment for ${name}:${partition.partitionId} because it would require an unclean leader election.`
    throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', message)
  }
  return {
    replicas: old,
    isr: isUnclean ? [old[0]] : inSync,
    addingReplicas: [],
    removingReplicas: [],
    election: isUnclean ? 'unclean' : 'online',
  }
}

function moved(
  partition: PartitionImage,
  wanted: readonly number[],
  mayChangeFactor: boolean,
  { image }: DecisionContext,
): PartitionChange {
  const problem = checkReplicas(wanted, wanted.length, id => image.brokers.has(id))
  if (problem !== undefined) throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', problem)
  // A move that is under way began at these.
  const present = partition.replicas.filter(id => !partition.addingReplicas.includes(id))
  if (!mayChangeFactor && wanted.length !== present.length) {
    const message = `The replication factor is changed from ${present.length} to ${wanted.length}`
    throw new KafkaError('INVALID_REPLICATION_FACTOR', message)
  }
  const removingReplicas = present.filter(id => !wanted.includes(id))
  const replicas = [...wanted, ...removingReplicas]
  return {
    replicas,
    // Of a move before this one, what is wanted no more goes at once.
    isr: partition.isr.filter(id => replicas.includes(id)),
    addingReplicas: wanted.filter(id => !present.includes(id)),
    removingReplicas,
  }
}

type ListMessage = ControllerMessages['listPartitionReassignments']['request']
type ListReply = ControllerMessages['listPartitionReassignments']['reply']

/** Those that are under way; of the partitions that are named, or of all. */
export function listPartitionReassignmentsDecision({ request }: ListMessage, { image }: DecisionContext): ListReply {
  const asked =
    request.topics?.map(({ name, partitionIndexes }) => ({ name, indexes: new Set(partitionIndexes) })) ??
    [...image.topicsByName.keys()].map(name => ({ name, indexes: undefined }))
  const topics = asked.flatMap(({ name, indexes }) => {
    const partitions = (image.topicsByName.get(name)?.partitions ?? [])
      .filter(({ partitionId }) => indexes?.has(partitionId) ?? true)
      .filter(({ addingReplicas, removingReplicas }) => addingReplicas.length + removingReplicas.length > 0)
      .map(({ partitionId, replicas, addingReplicas, removingReplicas }) => ({
        partitionIndex: partitionId,
        replicas,
        addingReplicas,
        removingReplicas,
      }))
    return partitions.length === 0 ? [] : [{ name, partitions }]
  })
  return { errorMessage: null, topics }
}
