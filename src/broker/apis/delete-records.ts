import { deleteRecords } from '../../protocol/apis/delete-records.ts'
import type { Decoded } from '../../protocol/dsl.ts'
import { ERROR_CODES, type ErrorName, KafkaError } from '../../protocol/errors.ts'
import { Later } from '../../util/later.ts'
import { handler, type RequestContext } from '../handler.ts'
import { isInternalTopic } from '../internal-topics.ts'
import type { Partition } from '../partition.ts'

/**
 * Moves the log start offset of partitions up, so that what lies before is gone, and waits until the followers that live have
 * done so, too (`Partition.deleteRecordsOnLeader`, `DelayedDeleteRecords`).
 */

/** Stands for the high watermark. */
const ALL = -1

type Request = Decoded<typeof deleteRecords.request>

/** One partition of the request. */
interface Part {
  readonly response: { readonly partitionIndex: number; lowWatermark: number; errorCode: number }
  /** Where the logs are to begin, and undefined once nothing can come of it. */
  readonly target: { readonly partition: Partition; readonly offset: number } | undefined
}

export const deleteRecordsHandler = handler(deleteRecords, (request, context) => {
  const topics = request.topics.map(({ name, partitions }) => ({
    name,
    parts: partitions.map(({ partitionIndex, offset }) => partOf(name, partitionIndex, offset, context)),
  }))
  const answer = () => ({
    topics: topics.map(({ name, parts }) => ({ name, partitions: parts.map(({ response }) => response) })),
  })
  const all = topics.flatMap(({ parts }) => parts)
  const followed = waitForFollowers(all, request, context)
  const written = context.broker.replicas.directory.writingLogStartOffsets
  if (written === undefined) return followed?.map(answer) ?? answer()
  // What is deleted must not come back, whatever becomes of this process.
  const answered = new Later<ReturnType<typeof answer>>(context.broker.env.turns)
  written.whenSettled(failure => {
    if (failure !== undefined) for (const part of all) refuse(part, 'KAFKA_STORAGE_ERROR')
    if (followed === undefined) answered.settle(answer())
    else followed.whenSettled(() => answered.settle(answer()))
  })
  return answered
})

function refuse({ response }: Part, error: ErrorName): void {
  response.errorCode = ERROR_CODES[error]
  response.lowWatermark = -1
}

function partOf(topic: string, partitionIndex: number, asked: number, context: RequestContext): Part {
  try {
    const target = deleteBefore(topic, partitionIndex, asked, context)
    return { response: { partitionIndex, lowWatermark: target.partition.lowWatermark, errorCode: 0 }, target }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return { response: { partitionIndex, lowWatermark: -1, errorCode: error.code }, target: undefined }
  }
}

function deleteBefore(topic: string, index: number, asked: number, { broker }: RequestContext) {
  const partition = broker.replicas.leader(topic, index)
  if (isInternalTopic(topic)) throw new KafkaError('INVALID_TOPIC_EXCEPTION')
  // Without any policy all is kept, and may be deleted by hand.
  const policies = broker.replicas.topicConfig(topic).list('cleanup.policy')
  if (policies.includes('compact') && !policies.includes('delete')) throw new KafkaError('POLICY_VIOLATION')
  const { log } = partition
  const offset = asked === ALL ? log.highWatermark : asked
  if (offset < 0 || offset > log.highWatermark) throw new KafkaError('OFFSET_OUT_OF_RANGE')
  log.deleteRecordsBefore(offset)
  broker.purgatory.wake(partition.key)
  return { partition, offset }
}

/** Undefined when there is nothing to wait for. */
function waitForFollowers(parts: Part[], { timeoutMs }: Request, context: RequestContext): Later<true> | undefined {
  const waiting = parts.filter(({ target }) => target !== undefined)
  if (waiting.every(isDone)) return undefined
  return context.broker.purgatory.wait<true>(
    context.connectionId,
    waiting.map(({ target }) => (target as NonNullable<typeof target>).partition.key),
    timeoutMs,
    () => waiting.every(isDone) || undefined,
    () => {
      for (const part of waiting) if (!isDone(part)) part.response.errorCode = ERROR_CODES.REQUEST_TIMED_OUT
      return true
    },
  )
}

/** True when there is nothing more to wait for, for better or worse. What is known of the partition goes into its answer. */
function isDone(part: Part): boolean {
  const { response, target } = part
  if (target === undefined) return true
  const { partition, offset } = target
  const error = partition.notLedBecause
  if (error !== undefined) {
    refuse(part, error)
    return true
  }
  response.lowWatermark = partition.lowWatermark
  return response.lowWatermark >= offset
}
