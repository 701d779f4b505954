import { metadata } from '../../protocol/apis/metadata.ts'
import type { Decoded } from '../../protocol/dsl.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import type { Broker } from '../broker.ts'
import { handler, type RequestContext } from '../handler.ts'
import { isInternalTopic } from '../internal-topics.ts'
import type { PartitionImage, TopicImage } from '../metadata/image.ts'
import { checkTopicName } from '../topic-names.ts'
import { CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS } from './authorized-operations.ts'

/**
 * Brokers, topics, partitions and their leaders, as this broker knows them (`KafkaApis.handleTopicMetadataRequest`). A
 * topic that does not exist is made when the request and the broker allow it; this answer still says that it is unknown.
 */

type Request = Decoded<typeof metadata.request>

export const metadataHandler = handler(
  metadata,
  (request, context) => {
    const { broker, apiVersion } = context
    refuseBadNames(request, apiVersion)
    const topicOperations = request.includeTopicAuthorizedOperations ? TOPIC_OPERATIONS : NOT_ASKED
    return {
      brokers: aliveBrokers(broker),
      clusterId: broker.clusterId,
      controllerId: broker.id,
      topics: describeTopics(request, context).map(topic => ({
        ...topic,
        topicAuthorizedOperations: topic.name === null ? NOT_ASKED : topicOperations,
      })),
      clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : NOT_ASKED,
    }
  },
  {
    refuse: (request, error) => ({
      errorCode: error.code,
      topics: (request.topics ?? []).map(({ name, topicId }) => ({ errorCode: error.code, name: name ?? '', topicId })),
    }),
  },
)

/** Ids can be asked by from version 12 on; before, every topic needs its name. One without either is an accident in Kafka. */
function refuseBadNames(request: Request, apiVersion: number): void {
  const withIds = apiVersion >= 12
  for (const { name, topicId } of request.topics ?? []) {
    const noId = topicId === ZERO_UUID
    if (withIds ? name === null && noId : name === null || !noId) throw new KafkaError('INVALID_REQUEST')
  }
}

function aliveBrokers(broker: Broker) {
  return [...broker.image.brokers.values()]
    .filter(({ fenced }) => !fenced)
    .map(({ brokerId, host, port, rack }) => ({ nodeId: brokerId, host, port, rack }))
}

function describeTopics(request: Request, context: RequestContext) {
  const { broker, apiVersion } = context
  const { image } = broker
  const all = request.topics === null || (apiVersion === 0 && request.topics.length === 0)
  if (all) return [...image.topicsByName.values()].map(topic => describeTopic(topic, context))

  const asked = request.topics ?? []
  const ids = new Set(asked.map(({ topicId }) => topicId).filter(id => id !== ZERO_UUID))
  if (ids.size > 0) {
    return [...ids].map(topicId => {
      const topic = image.topicsById.get(topicId)
      return topic === undefined ? unknownId(topicId) : describeTopic(topic, context)
    })
  }
  const mayCreate = request.allowAutoTopicCreation && broker.config.boolean('auto.create.topics.enable')
  const names = new Set(asked.map(({ name }) => name as string))
  return [...names].map(name => {
    const topic = image.topicsByName.get(name)
    return topic === undefined ? unknownName(name, mayCreate, broker) : describeTopic(topic, context)
  })
}

function describeTopic(topic: TopicImage, { broker, apiVersion }: RequestContext) {
  const describe = apiVersion === 0 ? describeOldPartition : describePartition
  return {
    errorCode: 0,
    name: topic.name as string | null,
    topicId: topic.topicId,
    isInternal: isInternalTopic(topic.name),
    partitions: topic.partitions.map(partition => describe(topic.topicId, partition, broker)),
  }
}

/** In version 0 replicas that are offline are left out, and that some are is told as an error. */
function describeOldPartition(topicId: string, partition: PartitionImage, broker: Broker) {
  const described = describePartition(topicId, partition, broker)
  const isOnline = (id: number) => !described.offlineReplicas.includes(id)
  const replicaNodes = described.replicaNodes.filter(isOnline)
  const isMissing = described.errorCode === 0 && replicaNodes.length < described.replicaNodes.length
  return {
    ...described,
    errorCode: isMissing ? ERROR_CODES.REPLICA_NOT_AVAILABLE : described.errorCode,
    replicaNodes,
    isrNodes: described.isrNodes.filter(isOnline),
  }
}

/** A leader that is not there is none. A replica is offline with its broker, or by itself; of its own this broker knows first. */
export function describePartition(topicId: string, partition: PartitionImage, broker: Broker) {
  const { partitionId, leaderEpoch, replicas, isr } = partition
  const { image } = broker
  const hasFailed = (id: number) =>
    id === broker.id && broker.replicas.find(topicId, partitionId)?.failure !== undefined
  const isOffline = (id: number) =>
    image.brokers.get(id)?.fenced !== false || image.isReplicaOffline(id, topicId, partitionId) || hasFailed(id)
  const leader = isOffline(partition.leader) ? -1 : partition.leader
  return {
    errorCode: leader < 0 ? ERROR_CODES.LEADER_NOT_AVAILABLE : 0,
    partitionIndex: partitionId,
    leaderId: leader,
    leaderEpoch,
    replicaNodes: replicas,
    isrNodes: isr,
    offlineReplicas: replicas.filter(isOffline),
  }
}

function unknownId(topicId: string) {
  return { errorCode: ERROR_CODES.UNKNOWN_TOPIC_ID as number, name: null, topicId, isInternal: false, partitions: [] }
}

function unknownName(name: string, mayCreate: boolean, broker: Broker) {
  const valid = checkTopicName(name) === undefined
  if (valid && mayCreate) broker.autoTopics.create(name)
  return {
    errorCode: valid ? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION : ERROR_CODES.INVALID_TOPIC_EXCEPTION,
    name,
    topicId: ZERO_UUID,
    isInternal: isInternalTopic(name),
    partitions: [],
  }
}
