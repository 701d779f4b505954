import { ProduceRecordsError, RecordsInvalidError } from '../../log/append-error.ts'
import { refuseProduceRecords } from '../../log/validate.ts'
import { produce } from '../../protocol/apis/produce.ts'
import type { Decoded, Encodable } from '../../protocol/dsl.ts'
import { ERROR_CODES, type ErrorName, KafkaError } from '../../protocol/errors.ts'
import { batchAttributes, batchMagic, batchSize, MAGIC_V2 } from '../../records/batch-header.ts'
import type { Later } from '../../util/later.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import { CLOSE_CONNECTION, handler, NO_RESPONSE, type RequestContext } from '../handler.ts'
import { isInternalTopic } from '../internal-topics.ts'
import type { Partition } from '../partition.ts'
import { chargeProduce } from '../quotas/throttle.ts'
import { leaderHint } from './leader-hint.ts'

/**
 * Appends batches to partitions (`KafkaApis.handleProduceRequest`, `ReplicaManager.appendRecords`). Partitions succeed and
 * fail each for itself. The answer waits until what was appended is stored; with acks −1 in every in-sync replica.
 */

type Request = Decoded<typeof produce.request>
type Response = Encodable<typeof produce.response>
type PartitionResponse = {
  -readonly [Name in keyof PartitionIn]: PartitionIn[Name]
}
type PartitionIn = NonNullable<NonNullable<Response['responses']>[number]['partitionResponses']>[number]

/** One partition of the request: of several with the same number only the last counts, as in Kafka. */
interface Part {
  readonly topic: string
  readonly topicId: string
  readonly index: number
  records: Uint8Array | null
  response: PartitionResponse
  /** Set once appended: what has to be replicated. */
  partition?: Partition
  endOffset?: number
}

const TRANSACTIONAL = 0x10
/** Where the length and the magic of a batch end, and the least that a batch of any magic has behind its length. */
const LENGTH_END = 12
const MAGIC_END = 17
const LEAST_LENGTH = 14
/** Kafka's tools write to internal topics under this name. */
const ADMIN_CLIENT = '__admin_client'

export const produceHandler = handler(
  produce,
  (request, context) => {
    chargeProduce(context)
    const parts = partsOf(request)
    const refusal = refuseAll(request, parts)
    for (const part of parts) {
      if (refusal === undefined) appendPart(part, request, context)
      else if (refusal !== 'INVALID_REQUIRED_ACKS') refuse(part, new KafkaError(refusal))
      else refuse(part, new KafkaError(earlyError(part, context) ?? refusal))
    }
    if (request.acks === 0) return failed(parts) ? CLOSE_CONNECTION : NO_RESPONSE
    const wait = waitUntilStored(parts, request, context)
    return wait === undefined ? respond(parts, context) : wait.map(() => respond(parts, context))
  },
  {
    advertisedMin: 0,
    differs: [
      'Null records are answered INVALID_RECORD; Kafka never answers them.',
      'Transactions are not there yet: a transactional batch is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED.',
    ],
  },
)

function partsOf(request: Request): Part[] {
  const parts = new Map<string, Part>()
  for (const { name, topicId, partitionData } of request.topicData) {
    for (const { index, records } of partitionData) {
      const key = `${name || topicId}/${index}`
      const known = parts.get(key)
      if (known === undefined) {
        parts.set(key, { topic: name, topicId, index, records, response: { index, errorCode: 0, baseOffset: -1 } })
      } else known.records = records
    }
  }
  return [...parts.values()]
}

/** What is wrong with the request as a whole. */
function refuseAll(request: Request, parts: Part[]): ErrorName | undefined {
  // Whether the request is transactional tells its first batch, so all of them are looked at before anything else.
  for (const part of parts) {
    if (isCorrupt(part)) return 'CORRUPT_MESSAGE'
    if (isTransactional(part)) return 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED'
  }
  return request.acks < -1 || request.acks > 1 ? 'INVALID_REQUIRED_ACKS' : undefined
}

/** A length or a magic that no batch has (`ByteBufferLogInputStream.nextBatchSize`). */
function isCorrupt({ records }: Part): boolean {
  if (records === null || records.length < LENGTH_END) return false
  if (batchSize(records, 0) < LENGTH_END + LEAST_LENGTH) return true
  return records.length >= MAGIC_END && (batchMagic(records, 0) < 0 || batchMagic(records, 0) > MAGIC_V2)
}

function isTransactional({ records }: Part): boolean {
  return records !== null && records.length >= 23 && (batchAttributes(records, 0) & TRANSACTIONAL) !== 0
}

function appendPart(part: Part, request: Request, context: RequestContext): void {
  let partition: Partition | undefined
  try {
    partition = partitionOf(part, context)
    if (part.records === null) throw new ProduceRecordsError('INVALID_RECORD', 'null records')
    const result = partition.append(part.records, {
      now: context.now,
      origin: 'client',
      produceVersion: context.apiVersion,
      requiredAcks: request.acks,
    })
    if (!result.duplicate) {
      const messages = result.lastOffset - result.firstOffset + 1
      context.broker.counters.appended(partition.topic, part.records.length, messages)
    }
    part.partition = partition
    part.endOffset = result.lastOffset + 1
    part.response.baseOffset = result.firstOffset
    part.response.logAppendTimeMs = result.logAppendTime
    part.response.logStartOffset = partition.log.logStartOffset
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    refuse(part, error, partition)
  }
}

/** What is found before anybody looks at the acks: the partition is not there, or what it is sent is not one batch. */
function earlyError(part: Part, { broker, apiVersion }: RequestContext): ErrorName | undefined {
  const { topic, topicId, index, records } = part
  const { topicsById, topicsByName } = broker.image
  const known = apiVersion >= 13 ? topicsById.get(topicId) : topicsByName.get(topic)
  if (known === undefined && apiVersion >= 13) return 'UNKNOWN_TOPIC_ID'
  if (known?.partitions[index] === undefined) return 'UNKNOWN_TOPIC_OR_PARTITION'
  return records === null ? 'INVALID_RECORD' : refuseProduceRecords(records, apiVersion)?.error
}

function partitionOf({ topic, topicId, index }: Part, { broker, apiVersion, clientId }: RequestContext): Partition {
  if (apiVersion >= 13 && broker.image.topicsById.get(topicId) === undefined) throw new KafkaError('UNKNOWN_TOPIC_ID')
  const partition = apiVersion >= 13 ? broker.replicas.leaderById(topicId, index) : broker.replicas.leader(topic, index)
  if (isInternalTopic(partition.topic) && clientId !== ADMIN_CLIENT) throw new KafkaError('INVALID_TOPIC_EXCEPTION')
  return partition
}

/** Errors that are found before the log is looked at are told without its start. */
const WITHOUT_LOG_START: ReadonlySet<ErrorName> = new Set<ErrorName>([
  'CORRUPT_MESSAGE',
  'INVALID_TOPIC_EXCEPTION',
  'KAFKA_STORAGE_ERROR',
  'MESSAGE_TOO_LARGE',
  'NOT_LEADER_OR_FOLLOWER',
  'RECORD_LIST_TOO_LARGE',
])

function refuse(part: Part, error: KafkaError, partition?: Partition): void {
  part.response.errorCode = error.code
  if (error.message !== error.error) part.response.errorMessage = error.message
  if (error instanceof RecordsInvalidError) {
    part.response.recordErrors = error.recordErrors.map(({ batchIndex, message }) => ({
      batchIndex,
      batchIndexErrorMessage: message,
    }))
  }
  const early = error instanceof ProduceRecordsError || WITHOUT_LOG_START.has(error.error)
  if (partition !== undefined && !early) part.response.logStartOffset = partition.log.logStartOffset
}

function failed(parts: Part[]): boolean {
  return parts.some(({ response }) => response.errorCode !== 0)
}

/** Undefined when everything is stored already, in as many replicas as the producer wants. */
function waitUntilStored(parts: Part[], request: Request, context: RequestContext): Later<true> | undefined {
  let waiting = parts.filter(({ partition }) => partition !== undefined)
  // Each is asked until it has an answer and not again, as in Kafka: what was stored stays so, whatever becomes of the ISR while
  // the request waits for other partitions.
  const areStored = () => {
    waiting = waiting.filter(part => !stored(part, request.acks))
    return waiting.length === 0
  }
  if (areStored()) return undefined
  return context.broker.purgatory.wait<true>(
    context.connectionId,
    waiting.map(({ partition }) => (partition as Partition).key),
    request.timeoutMs,
    () => areStored() || undefined,
    () => {
      if (!areStored()) for (const part of waiting) part.response.errorCode = ERROR_CODES.REQUEST_TIMED_OUT
      return true
    },
  )
}

/**
 * True when there is nothing more to wait for, for better or worse (`Partition.checkEnoughReplicasReachOffset`). The high watermark
 * stands still while the ISR is under the minimum, so a producer learns that the ISR is too small after the append only when it shrank
 * between the last step of the high watermark and this look at it: otherwise it waits on.
 */
function stored(part: Part, acks: number): boolean {
  const partition = part.partition as Partition
  const endOffset = part.endOffset as number
  const error = partition.notLedBecause
  if (error === undefined) {
    if (acks !== -1) return endOffset <= partition.storedOffset
    if (endOffset > partition.highWatermark) return false
    if (partition.maximalIsr.length >= partition.minInsyncReplicas) return true
  }
  part.response.errorCode = ERROR_CODES[error ?? 'NOT_ENOUGH_REPLICAS_AFTER_APPEND']
  return true
}

function respond(parts: Part[], { apiVersion, broker }: RequestContext): Response {
  const topics = new Map<string, { name: string; topicId: string; partitionResponses: PartitionResponse[] }>()
  for (const { topic, topicId, response } of parts) {
    const key = topic || topicId
    const known = topics.get(key)
    if (known === undefined) topics.set(key, { name: topic, topicId, partitionResponses: [response] })
    else known.partitionResponses.push(response)
  }
  const responses = [...topics.values()]
  if (apiVersion < 10 || !failed(parts)) return { responses }
  const hint = leaderHint(broker)
  for (const { topic, topicId, index, response } of parts) {
    const id = topicId === ZERO_UUID ? broker.image.topicsByName.get(topic)?.topicId : topicId
    const leader = hint.of(response.errorCode as number, id, index)
    if (leader !== undefined) response.currentLeader = leader
  }
  return { responses, nodeEndpoints: hint.endpoints() }
}
