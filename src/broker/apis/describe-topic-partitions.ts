import { describeTopicPartitions } from '../../protocol/apis/describe-topic-partitions.ts'
import type { Decoded, Encodable } from '../../protocol/dsl.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import type { Broker } from '../broker.ts'
import { handler, type RequestContext } from '../handler.ts'
import { isInternalTopic } from '../internal-topics.ts'
import type { TopicImage } from '../metadata/image.ts'
import { checkTopicName } from '../topic-names.ts'
import { TOPIC_OPERATIONS } from './authorized-operations.ts'
import { describePartition } from './metadata.ts'

/** Topics and their partitions in pages, sorted by name (KIP-966, `DescribeTopicPartitionsRequestHandler`). */

type Request = Decoded<typeof describeTopicPartitions.request>
type Response = Encodable<typeof describeTopicPartitions.response>
type Topic = NonNullable<Response['topics']>[number]

export const describeTopicPartitionsHandler = handler(
  describeTopicPartitions,
  (request, context) => {
    const { cursor } = request
    if (cursor !== null && !fits(cursor, request)) throw new KafkaError('INVALID_REQUEST')
    const most = context.broker.config.number('max.request.partition.size.limit')
    return page(
      request,
      namesOf(request, context),
      Math.max(1, Math.min(request.responsePartitionLimit, most)),
      context,
    )
  },
  {
    refuse: (request, error) => ({
      topics: request.topics.map(({ name }) => ({ errorCode: error.code, name, topicId: ZERO_UUID })),
    }),
  },
)

/** A cursor goes on within the topics that are asked for. */
function fits({ topicName, partitionIndex }: NonNullable<Request['cursor']>, { topics }: Request): boolean {
  return partitionIndex >= 0 && (topics.length === 0 || topics.some(({ name }) => name === topicName))
}

/** No names ask for all topics; a cursor says where to go on. */
function namesOf({ topics, cursor }: Request, { broker }: RequestContext): string[] {
  const asked = topics.length === 0 ? broker.image.topicsByName.keys() : topics.map(({ name }) => name)
  const names = [...new Set(asked)].sort()
  return cursor === null ? names : names.filter(name => name >= cursor.topicName)
}

function page({ cursor }: Request, names: string[], limit: number, { broker }: RequestContext): Response {
  const described: Topic[] = []
  let left = limit
  for (const name of names) {
    const topic = broker.image.topicsByName.get(name)
    if (left === 0) return { topics: described, nextCursor: { topicName: name, partitionIndex: 0 } }
    if (topic === undefined) {
      described.push(unknown(name))
      continue
    }
    // A cursor may stand behind the last partition: then nothing of that topic is told.
    const start = cursor?.topicName === name ? Math.min(cursor.partitionIndex, topic.partitions.length) : 0
    const end = Math.min(topic.partitions.length, start + left)
    described.push(describe(topic, start, end, broker))
    if (end < topic.partitions.length)
      return { topics: described, nextCursor: { topicName: name, partitionIndex: end } }
    left -= end - start
  }
  return { topics: described, nextCursor: null }
}

function describe(topic: TopicImage, start: number, end: number, broker: Broker): Topic {
  return {
    errorCode: 0,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: isInternalTopic(topic.name),
    partitions: topic.partitions.slice(start, end).map(partition => ({
      ...describePartition(topic.topicId, partition, broker),
      // Kafka tells here who leads, and not that nobody does.
      errorCode: 0,
      eligibleLeaderReplicas: partition.elr,
      lastKnownElr: partition.lastKnownElr,
    })),
    topicAuthorizedOperations: TOPIC_OPERATIONS,
  }
}

function unknown(name: string): Topic {
  const valid = checkTopicName(name) === undefined
  return {
    errorCode: valid ? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION : ERROR_CODES.INVALID_TOPIC_EXCEPTION,
    name,
    topicId: ZERO_UUID,
    isInternal: isInternalTopic(name),
    topicAuthorizedOperations: TOPIC_OPERATIONS,
  }
}
