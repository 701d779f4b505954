/**
 * The sending half of the producer: decides which batches go now, puts them together by leader, and deals with the answers.
 * It chooses no partition and builds no API for users. Follows Sender and TransactionManager.
 */

import { produce } from '../protocol/apis/produce.ts'
import type { Decoded } from '../protocol/dsl.ts'
import { errorName } from '../protocol/errors.ts'
import type { CodecName } from '../records/compression.ts'
import { RecordsError } from '../records/records-error.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { KafkaClient } from './client.ts'
import { type Batch, encodeBatch, failBatch, NO_IDENTITY, type Pending, ProduceQueue } from './produce-queue.ts'
import { ProducerIds } from './producer-ids.ts'
import { ClientError, type Failure, failureOf } from './result.ts'
import { groupBy } from './topic-partition.ts'

export interface SenderOptions {
  readonly acks: -1 | 0 | 1
  readonly idempotent: boolean
  readonly compression: CodecName
  readonly lingerMs: number
  readonly batchBytes: number
  readonly maxRequestBytes: number
  readonly maxInFlightPerPartition: number
  readonly deliveryTimeoutMs: number
  readonly timeoutMs: number
}

type ProduceResponse = Decoded<typeof produce.response>
type PartitionResponse = ProduceResponse['responses'][number]['partitionResponses'][number]

interface Sent {
  readonly queue: ProduceQueue
  readonly batch: Batch
  readonly bytes: Uint8Array
}

interface Request {
  readonly leaderId: number
  readonly sent: Sent[]
  bytes: number
}

export class Sender {
  readonly #client: KafkaClient
  readonly #options: SenderOptions
  readonly #ids: ProducerIds
  readonly #queues = new Map<string, ProduceQueue>()
  #pumpQueued = false
  #flushing = 0
  #wake: Timer | undefined

  constructor(client: KafkaClient, options: SenderOptions) {
    this.#client = client
    this.#options = options
    this.#ids = new ProducerIds(client, failure => this.#noIdentity(failure))
  }

  /** Puts a record behind those of its partition. */
  append(topic: string, partition: number, pending: Pending, bytes: number): void {
    this.#queueOf(topic, partition).append(pending, bytes, this.#options.batchBytes, this.#client.env.now())
    this.#client.use([topic])
    this.#queuePump()
  }

  /** Sends without lingering until the function returned is called. */
  beginFlush(): () => void {
    this.#flushing++
    this.#queuePump()
    return () => {
      this.#flushing--
    }
  }

  close(): void {
    this.#wake?.cancel()
  }

  #queueOf(topic: string, partition: number): ProduceQueue {
    const key = `${topic}:${partition}`
    let queue = this.#queues.get(key)
    if (queue === undefined) {
      const { idempotent, maxInFlightPerPartition } = this.#options
      queue = new ProduceQueue(topic, partition, idempotent ? Math.min(maxInFlightPerPartition, 5) : 1)
      if (!idempotent) queue.adopt(NO_IDENTITY)
      this.#queues.set(key, queue)
    }
    return queue
  }

  /** One pump per turn, however many records the turn brought. */
  #queuePump(): void {
    if (this.#pumpQueued) return
    this.#pumpQueued = true
    this.#client.env.turns.enqueue(() => {
      this.#pumpQueued = false
      this.#pump()
    })
  }

  #pump(): void {
    const now = this.#client.env.now()
    this.#client.freshen()
    for (const queue of this.#queues.values()) {
      this.#expire(queue, now)
      if (this.#flushing > 0 || (queue.openedAt ?? now + 1) + this.#options.lingerMs <= now) queue.seal()
    }
    for (let requests = this.#drain(now); requests.length > 0; requests = this.#drain(now)) {
      for (const { leaderId, sent } of requests) this.#request(leaderId, sent)
    }
    this.#setWake(now)
  }

  /** Takes at most one batch per partition, as a request may hold; and puts them together by leader and producer id. */
  #drain(now: number): Request[] {
    const requests = new Map<string, Request[]>()
    for (const queue of this.#queues.values()) {
      if (!queue.canSend(now) || !this.#ids.giveTo(queue)) continue
      const leaderId = this.#client.metadata.partition(queue.topic, queue.partition)?.leaderId ?? -1
      if (leaderId < 0) {
        this.#postpone(queue, 0)
        continue
      }
      const sent = this.#encode(queue)
      if (sent === undefined) continue
      const key = `${leaderId} ${sent.batch.identity?.producerId}`
      const list = requests.get(key) ?? []
      requests.set(key, list)
      const last = list.at(-1)
      if (last !== undefined && last.bytes + sent.bytes.length <= this.#options.maxRequestBytes) {
        last.sent.push(sent)
        last.bytes += sent.bytes.length
      } else list.push({ leaderId, sent: [sent], bytes: sent.bytes.length })
    }
    return [...requests.values()].flat()
  }

  #encode(queue: ProduceQueue): Sent | undefined {
    const batch = queue.take()
    try {
      return { queue, batch, bytes: encodeBatch(batch, this.#options.compression, this.#client.platform) }
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
      this.#giveUp(queue, batch, new ClientError('UNSUPPORTED_COMPRESSION_TYPE', error.message))
      return undefined
    }
  }

  #request(leaderId: number, sent: Sent[]): void {
    const { acks, timeoutMs } = this.#options
    const { metadata } = this.#client
    const topicData = groupBy(sent, ({ queue }) => queue.topic)
    const body = () => ({
      acks,
      timeoutMs,
      topicData: [...topicData].map(([name, batches]) => ({
        name,
        topicId: metadata.idOf(name),
        partitionData: batches.map(({ queue, bytes }) => ({ index: queue.partition, records: bytes })),
      })),
    })
    const expectResponse = acks !== 0
    const timeout = timeoutMs + this.#client.options.requestTimeoutMs
    const reply = this.#client.request(produce, body, { broker: leaderId, expectResponse, timeoutMs: timeout })
    reply.whenSettled(result => {
      for (const each of sent) {
        if (!result.ok) this.#failed(each, result.error)
        else if (!expectResponse) this.#stored(each, undefined)
        else this.#answered(each, result.value)
      }
      this.#queuePump()
    })
  }

  #answered(sent: Sent, response: ProduceResponse): void {
    const { metadata } = this.#client
    const { topic, partition } = sent.queue
    const answer = response.responses
      .find(each => (each.name || metadata.nameOf(each.topicId)) === topic)
      ?.partitionResponses.find(each => each.index === partition)
    if (answer === undefined) return this.#failed(sent, new ClientError('NETWORK_EXCEPTION', 'no answer for partition'))
    const code = errorName(answer.errorCode)
    // Known already, though too old for the broker to say where it lies.
    if (code === 'NONE' || code === 'DUPLICATE_SEQUENCE_NUMBER') return this.#stored(sent, answer)
    const isNews = metadata.updateLeader(topic, partition, answer.currentLeader, response.nodeEndpoints)
    const failure = failureOf(answer.errorCode, answer.errorMessage) as Failure
    this.#failed(sent, failure.error, isNews)
  }

  #stored({ queue, batch }: Sent, answer: PartitionResponse | undefined): void {
    const { topic, partition } = queue
    const known = answer !== undefined && answer.errorCode === 0
    for (const [index, { record, reply }] of batch.pending.entries()) {
      const offset = known ? answer.baseOffset + index : -1
      const timestamp = known && answer.logAppendTimeMs >= 0 ? answer.logAppendTimeMs : record.timestamp
      reply.settle({ ok: true, value: { topic, partition, offset, timestamp } })
    }
    this.#dropLost(queue, queue.acknowledge(batch))
  }

  #failed({ queue, batch }: Sent, error: ClientError, leaderIsNews = false): void {
    if (SEQUENCE_ERRORS.has(error.code)) {
      // After the loss of an older batch this is to be expected: what is behind it is sent again, in order.
      if (queue.hasOlder(batch) || queue.broken) return this.#dropLost(queue, queue.requeue(batch, false))
      failBatch(batch, error)
      return this.#dropLost(queue, queue.loseEpoch(batch))
    }
    if (error.code === 'MESSAGE_TOO_LARGE' && batch.pending.length > 1) {
      return this.#dropLost(queue, queue.split(batch))
    }
    const uncertain = UNCERTAIN.has(error.code)
    if (this.#client.closed || !(error.retriable || uncertain || error.code === 'BROKER_NOT_AVAILABLE')) {
      return this.#giveUp(queue, batch, error)
    }
    if (!leaderIsNews) this.#postpone(queue, batch.attempts - 1)
    this.#dropLost(queue, queue.requeue(batch, uncertain))
  }

  /** Asks who leads, and waits before the next try. */
  #postpone(queue: ProduceQueue, tries: number): void {
    queue.notBefore = this.#client.env.now() + this.#client.backoffMs(tries)
    this.#client.use([queue.topic])
    this.#client.refresh()
  }

  #expire(queue: ProduceQueue, now: number): void {
    const closed = this.#client.closed
    for (let head = queue.head; head !== undefined; head = queue.head) {
      if (!closed && now - head.createdAt < this.#options.deliveryTimeoutMs) return
      const code = closed ? 'OTTLA_CLIENT_CLOSED' : 'OTTLA_DELIVERY_TIMEOUT'
      const stored = head.uncertain ? '; it may have been stored' : ''
      this.#giveUp(queue, head, new ClientError(code, `${head.pending.length} records were not acknowledged${stored}`))
    }
  }

  #giveUp(queue: ProduceQueue, batch: Batch, error: ClientError): void {
    failBatch(batch, error)
    this.#dropLost(queue, queue.giveUp(batch))
  }

  #dropLost(queue: ProduceQueue, lost: readonly Batch[]): void {
    const message = `a new producer epoch began in ${queue.topic}-${queue.partition}; the records may have been stored`
    for (const batch of lost) failBatch(batch, new ClientError('OUT_OF_ORDER_SEQUENCE_NUMBER', message))
  }

  /** There is no producer id to be had: nothing that waits can be sent. */
  #noIdentity(failure: Failure | undefined): void {
    this.#queuePump()
    if (failure === undefined) return
    for (const queue of this.#queues.values()) {
      queue.seal()
      for (let head = queue.head; head !== undefined && queue.needsIdentity; head = queue.head) {
        this.#giveUp(queue, head, failure.error)
      }
    }
  }

  /** Sets one timer for the next thing that time alone brings: a linger, a pause or a deadline that ends. */
  #setWake(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const queue of this.#queues.values()) {
      if (queue.openedAt !== undefined) next = Math.min(next, queue.openedAt + this.#options.lingerMs)
      if (queue.head === undefined) continue
      if (queue.notBefore > now) next = Math.min(next, queue.notBefore)
      next = Math.min(next, queue.head.createdAt + this.#options.deliveryTimeoutMs)
    }
    this.#wake?.cancel()
    this.#wake = next < Number.POSITIVE_INFINITY ? this.#client.env.timer(next - now, () => this.#pump()) : undefined
  }
}

const SEQUENCE_ERRORS: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
])

/** After these nobody knows whether the batch was stored. */
const UNCERTAIN: ReadonlySet<string> = new Set([
  'NETWORK_EXCEPTION',
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  // Said also when it was appended, and could not be flushed, or was not replicated before the leader changed.
  'KAFKA_STORAGE_ERROR',
  'NOT_LEADER_OR_FOLLOWER',
  'OTTLA_BAD_RESPONSE',
])
