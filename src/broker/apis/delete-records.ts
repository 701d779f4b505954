import { deleteRecords } from '../../protocol/apis/delete-records.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { handler, type RequestContext } from '../handler.ts'
import { isInternalTopic } from '../internal-topics.ts'

/** Moves the log start offset of partitions up, so that what lies before is gone (`Partition.deleteRecordsOnLeader`). */

/** Stands for the high watermark. */
const ALL = -1

export const deleteRecordsHandler = handler(deleteRecords, (request, context) => ({
  topics: request.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, offset }) => {
      try {
        return { partitionIndex, lowWatermark: deleteBefore(name, partitionIndex, offset, context), errorCode: 0 }
      } catch (error) {
        if (!(error instanceof KafkaError)) throw error
        return { partitionIndex, lowWatermark: -1, errorCode: error.code }
      }
    }),
  })),
}))

function deleteBefore(topic: string, index: number, asked: number, { broker }: RequestContext): number {
  const partition = broker.replicas.leader(topic, index)
  if (isInternalTopic(topic)) throw new KafkaError('INVALID_TOPIC_EXCEPTION')
  // Without any policy all is kept, and may be deleted by hand.
  const policies = broker.replicas.topicConfig(topic).list('cleanup.policy')
  if (policies.includes('compact') && !policies.includes('delete')) throw new KafkaError('POLICY_VIOLATION')
  const { log } = partition
  const offset = asked === ALL ? log.highWatermark : asked
  if (offset < 0 || offset > log.highWatermark) throw new KafkaError('OFFSET_OUT_OF_RANGE')
  const start = log.deleteRecordsBefore(offset)
  broker.purgatory.wake(partition.key)
  return start
}
