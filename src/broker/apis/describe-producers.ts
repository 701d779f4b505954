import type { ProducerEntry } from '../../log/producer-state.ts'
import { describeProducers } from '../../protocol/apis/describe-producers.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { handler, type RequestContext } from '../handler.ts'
import { checkTopicName } from '../topic-names.ts'

/** The producers that partitions know (KIP-664). */
export const describeProducersHandler = handler(describeProducers, (request, context) => ({
  topics: request.topics.map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map(partitionIndex => ({
      partitionIndex,
      ...describe(name, partitionIndex, context),
    })),
  })),
}))

function describe(topic: string, index: number, { broker }: RequestContext) {
  const problem = checkTopicName(topic)
  if (problem !== undefined) return { errorCode: ERROR_CODES.INVALID_TOPIC_EXCEPTION, errorMessage: problem }
  if (!broker.image.topicsByName.has(topic)) {
    const errorMessage = 'This server does not host this topic-partition.'
    return { errorCode: ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, errorMessage }
  }
  try {
    // A follower tells what it knows, as Kafka's does.
    const { log } = broker.replicas.readable(topic, index, true)
    return { errorCode: 0, activeProducers: log.producers().map(activeProducer) }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return { errorCode: error.code }
  }
}

function activeProducer(entry: ProducerEntry) {
  return {
    producerId: entry.producerId,
    producerEpoch: entry.producerEpoch,
    lastSequence: entry.batches.at(-1)?.lastSequence ?? -1,
    lastTimestamp: entry.lastTimestamp,
    coordinatorEpoch: entry.coordinatorEpoch,
    currentTxnStartOffset: entry.currentTransactionFirstOffset,
  }
}
