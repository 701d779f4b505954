import type { ControllerMessages } from '../../broker/link.ts'
import type { TopicImage } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { repeated } from '../../util/repeated.ts'
import type { DecisionContext } from '../decision-context.ts'
import { newPartition } from './new-partition.ts'
import { checkReplicas, placePartitions } from './placement.ts'

/** Adds partitions to topics, each topic for itself (`ReplicationControlManager.createPartitions`). */

type Message = ControllerMessages['createPartitions']['request']
type Reply = ControllerMessages['createPartitions']['reply']
type Topic = Message['request']['topics'][number]

/** More in one request are refused as a whole, before any is placed (`QuorumController.MAX_RECORDS_PER_USER_OP`). */
const MAX_PARTITIONS_PER_REQUEST = 10_000

export function createPartitionsDecision({ request }: Message, context: DecisionContext): Reply {
  const twice = repeated(request.topics.map(({ name }) => name))
  const wanted = request.topics.map(topic => (twice.has(topic.name) ? 0 : added(topic, context)))
  if (wanted.reduce((sum, each) => sum + each, 0) > MAX_PARTITIONS_PER_REQUEST) {
    const errorMessage = 'Unable to perform excessively large batch operation.'
    const names = new Set(request.topics.map(({ name }) => name))
    return { results: [...names].map(name => ({ name, errorCode: ERROR_CODES.POLICY_VIOLATION, errorMessage })) }
  }
  const results = [...twice].map(name => ({
    name,
    errorCode: ERROR_CODES.INVALID_REQUEST as number,
    errorMessage: 'Duplicate topic name.' as string | null,
  }))
  for (const topic of request.topics) {
    if (twice.has(topic.name)) continue
    try {
      const records = grow(topic, context)
      if (!request.validateOnly) context.append(...records)
      results.push({ name: topic.name, errorCode: 0, errorMessage: null })
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      results.push({ name: topic.name, errorCode: error.code, errorMessage: error.message })
    }
  }
  return { results }
}

/** How many partitions a topic would get; none when it is refused anyway. */
function added({ name, count }: Topic, { image }: DecisionContext): number {
  const present = image.topicsByName.get(name)?.partitions.length
  return present === undefined ? 0 : Math.max(0, count - present)
}

function grow({ name, count, assignments }: Topic, context: DecisionContext): MetadataRecord[] {
  const topic = context.image.topicsByName.get(name)
  if (topic === undefined) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', 'This server does not host this topic-partition.')
  }
  const present = topic.partitions.length
  if (count === present) throw new KafkaError('INVALID_PARTITIONS', `Topic already has ${present} partition(s).`)
  if (count < present) {
    const message = `The topic ${name} currently has ${present} partition(s); ${count} would not be an increase.`
    throw new KafkaError('INVALID_PARTITIONS', message)
  }
  const replicas = assignments === null ? place(topic, count, context) : checked(topic, count, assignments, context)
  const isManual = assignments !== null
  return replicas.map((nodes, index) =>
    newPartition(topic.topicId, present + index, { replicas: nodes, isManual }, context),
  )
}

function place({ partitions }: TopicImage, count: number, { image, env }: DecisionContext): number[][] {
  return placePartitions({
    brokers: [...image.brokers.values()],
    count: count - partitions.length,
    replicationFactor: partitions[0].replicas.length,
    random: () => env.random(),
  })
}

function checked(
  { partitions }: TopicImage,
  count: number,
  assignments: readonly { brokerIds: number[] }[],
  { image }: DecisionContext,
): number[][] {
  const added = count - partitions.length
  if (assignments.length !== added) {
    const message = `Attempted to add ${added} additional partition(s), but only ${assignments.length} assignment(s) were specified.`
    throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', message)
  }
  for (const { brokerIds } of assignments) {
    const problem = checkReplicas(brokerIds, partitions[0].replicas.length, id => image.brokers.has(id))
    if (problem !== undefined) throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', problem)
  }
  return assignments.map(({ brokerIds }) => brokerIds)
}
