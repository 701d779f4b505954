import { describeTopicConfigs } from '../../broker/configs/describe.ts'
import { checkTopicConfig, checkTopicConfigs, TopicConfig } from '../../broker/configs/topic-config.ts'
import type { ControllerMessages } from '../../broker/link.ts'
import { RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { checkTopicName, collisionKey } from '../../broker/topic-names.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { repeated } from '../../util/repeated.ts'
import { randomUuid } from '../../util/uuid.ts'
import type { DecisionContext } from '../decision-context.ts'
import { newPartition } from './new-partition.ts'
import { checkReplicas, placePartitions } from './placement.ts'

/** Makes topics, each for itself (`ReplicationControlManager.createTopics`). */

type Message = ControllerMessages['createTopics']['request']
type Reply = ControllerMessages['createTopics']['reply']
type Topic = Message['request']['topics'][number]
type Result = NonNullable<Reply['topics']>[number]

/** More in one request are refused, as a mistake is likelier than a wish. */
const MAX_PARTITIONS_PER_REQUEST = 10_000

export function createTopicsDecision({ request }: Message, context: DecisionContext): Reply {
  const duplicates = repeated(request.topics.map(({ name }) => name))
  const results: Result[] = []
  const made = new Map<string, string>()
  let partitions = 0
  for (const topic of request.topics) {
    if (duplicates.has(topic.name)) continue
    try {
      const plan = planTopic(topic, made, context)
      partitions += plan.replicas.length
      if (partitions > MAX_PARTITIONS_PER_REQUEST) {
        throw new KafkaError('POLICY_VIOLATION', `Excessively large number of partitions per request: ${partitions}`)
      }
      made.set(collisionKey(topic.name), topic.name)
      if (!request.validateOnly) context.append(...plan.records)
      results.push(plan.result)
    } catch (error) {
      results.push(refused(topic.name, error))
    }
  }
  for (const name of duplicates) {
    results.push(refused(name, new KafkaError('INVALID_REQUEST', 'Duplicate topic name.')))
  }
  return { topics: results }
}

function refused(name: string, error: unknown): Result {
  if (!(error instanceof KafkaError)) throw error
  return {
    name,
    errorCode: error.code,
    errorMessage: error.message === error.error ? null : error.message,
    configs: [],
  }
}

/** The names that this request has made so far, by what they collide in. */
type Made = ReadonlyMap<string, string>

interface Plan {
  replicas: number[][]
  records: MetadataRecord[]
  result: Result
}

function planTopic(topic: Topic, made: Made, context: DecisionContext): Plan {
  checkName(topic.name, made, context)
  const overrides = checkConfigs(topic)
  const replicas = topic.assignments.length > 0 ? checkAssignments(topic, context) : place(topic, context)
  const topicId = randomUuid(() => context.env.random())
  const records: MetadataRecord[] = [{ type: 'topic', name: topic.name, topicId }]
  for (const [name, value] of overrides) {
    records.push({ type: 'config', resourceType: RESOURCE_TYPE.topic, resourceName: topic.name, name, value })
  }
  const isManual = topic.assignments.length > 0
  for (const [partitionId, nodes] of replicas.entries()) {
    records.push(newPartition(topicId, partitionId, { replicas: nodes, isManual }, context))
  }
  const configs = describeTopicConfigs(new TopicConfig(overrides, context.config), { includeSynonyms: false })
  return {
    replicas,
    records,
    result: {
      name: topic.name,
      topicId,
      errorMessage: null,
      numPartitions: replicas.length,
      replicationFactor: replicas[0].length,
      configs: configs.map(({ name, value, readOnly, configSource, isSensitive }) => ({
        name,
        value,
        readOnly,
        configSource,
        isSensitive,
      })),
    },
  }
}

function checkName(name: string, made: Made, { image }: DecisionContext): void {
  const problem = checkTopicName(name)
  if (problem !== undefined) throw new KafkaError('INVALID_TOPIC_EXCEPTION', problem)
  if (image.topicsByName.has(name)) throw new KafkaError('TOPIC_ALREADY_EXISTS', `Topic '${name}' already exists.`)
  const collision = image.collidingTopic(name) ?? made.get(collisionKey(name))
  if (collision !== undefined) {
    throw new KafkaError('INVALID_TOPIC_EXCEPTION', `Topic '${name}' collides with existing topic: ${collision}`)
  }
}

function checkConfigs(topic: Topic): Map<string, string> {
  const overrides = new Map<string, string>()
  for (const { name, value } of topic.configs) {
    const problem = checkTopicConfig(name, value)
    if (problem !== undefined) throw new KafkaError('INVALID_CONFIG', problem)
    overrides.set(name, value as string)
  }
  const conflict = checkTopicConfigs(overrides)
  if (conflict !== undefined) throw new KafkaError('INVALID_CONFIG', conflict)
  return overrides
}

function place(topic: Topic, context: DecisionContext): number[][] {
  const { numPartitions, replicationFactor } = topic
  if (replicationFactor === 0 || replicationFactor < -1) {
    throw new KafkaError(
      'INVALID_REPLICATION_FACTOR',
      'Replication factor must be larger than 0, or -1 to use the default value.',
    )
  }
  if (numPartitions === 0 || numPartitions < -1) {
    throw new KafkaError('INVALID_PARTITIONS', 'Number of partitions was set to an invalid non-positive value.')
  }
  const count = numPartitions === -1 ? context.config.number('num.partitions') : numPartitions
  if (count > MAX_PARTITIONS_PER_REQUEST) {
    throw new KafkaError('POLICY_VIOLATION', `Excessively large number of partitions per request: ${count}`)
  }
  return placePartitions({
    brokers: [...context.image.brokers.values()],
    count,
    replicationFactor:
      replicationFactor === -1 ? context.config.number('default.replication.factor') : replicationFactor,
    random: () => context.env.random(),
  })
}

/** Assignments by hand: both numbers −1, partitions from 0 without gaps, known brokers, none twice, all alike in number. */
function checkAssignments(topic: Topic, { image }: DecisionContext): number[][] {
  if (topic.replicationFactor !== -1) {
    throw new KafkaError(
      'INVALID_REQUEST',
      'A manual partition assignment was specified, but replication factor was not set to -1.',
    )
  }
  if (topic.numPartitions !== -1) {
    throw new KafkaError(
      'INVALID_REQUEST',
      'A manual partition assignment was specified, but numPartitions was not set to -1.',
    )
  }
  const replicas: number[][] = []
  for (const { partitionIndex, brokerIds } of topic.assignments) {
    if (replicas[partitionIndex] !== undefined) {
      throw new KafkaError(
        'INVALID_REPLICA_ASSIGNMENT',
        `Found multiple manual partition assignments for partition ${partitionIndex}`,
      )
    }
    const problem = checkReplicas(brokerIds, topic.assignments[0].brokerIds.length, id => image.brokers.has(id))
    if (problem !== undefined) throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', problem)
    if (partitionIndex < 0 || partitionIndex >= topic.assignments.length) {
      throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', 'partitions should be a consecutive 0-based integer sequence')
    }
    replicas[partitionIndex] = brokerIds
  }
  return replicas
}
