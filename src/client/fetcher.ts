/**
 * Fetches for a consumer: one request per broker at a time, for the partitions that have a position and nothing left to give.
 * It keeps what comes in the partitions and says when something happened; it gives no records to anybody. Follows
 * AbstractFetch and FetchCollector.
 */

import { fetch } from '../protocol/apis/fetch.ts'
import type { Decoded } from '../protocol/dsl.ts'
import { ZERO_UUID } from '../util/uuid.ts'
import type { AssignedPartition } from './assigned-partition.ts'
import type { KafkaClient } from './client.ts'
import type { ResolvedConsumerOptions } from './consumer.ts'
import { FetchSession, type FetchTarget, fetchTopics, forgottenTopics, type SessionRequest } from './fetch-session.ts'
import { readFetched } from './fetched-records.ts'
import { ClientError, DONE, failureOf, type Result } from './result.ts'
import { all, type Task, until } from './task.ts'
import { partitionKey } from './topic-partition.ts'

/** What the consumer hears of. */
export interface FetchListener {
  /** Something came, or may be tried again. */
  happened(): void
  /** Something that trying again does not mend. */
  failed(error: ClientError): void
  /** The position does not exist. */
  outOfRange(partition: AssignedPartition): void
}

interface Asked {
  readonly assigned: AssignedPartition
  readonly stamp: number
  readonly position: number
}

type FetchResponse = Decoded<typeof fetch.response>
type PartitionData = FetchResponse['responses'][number]['partitions'][number]

export class Fetcher {
  readonly #client: KafkaClient
  readonly #options: ResolvedConsumerOptions
  readonly #listener: FetchListener
  readonly #lane: string
  readonly #sessions = new Map<number, FetchSession>()
  readonly #inFlight = new Set<number>()
  #failures = 0
  #closed = false

  constructor(client: KafkaClient, options: ResolvedConsumerOptions, listener: FetchListener) {
    this.#client = client
    this.#options = options
    this.#listener = listener
    this.#lane = client.newLane('fetch')
  }

  /** Asks for whatever of `partitions` can be asked for now. */
  fetch(partitions: Iterable<AssignedPartition>): void {
    if (this.#closed) return
    const now = this.#client.env.now()
    this.#client.freshen()
    const byNode = new Map<number, AssignedPartition[]>()
    for (const assigned of partitions) {
      const { position, paused, busy, empty, notBefore } = assigned
      if (position === undefined || paused || busy || !empty || now < notBefore) continue
      if (this.#isOtherTopic(assigned)) {
        this.#listener.outOfRange(assigned)
        continue
      }
      const node = assigned.preferredReplica ?? this.#leaderOf(assigned)
      if (node === undefined || this.#client.metadata.broker(node) === undefined) this.#postpone([assigned])
      else byNode.set(node, [...(byNode.get(node) ?? []), assigned])
    }
    for (const [node, mine] of byNode) if (!this.#inFlight.has(node)) this.#ask(node, mine)
  }

  /** A topic that was deleted and made again is another one: the position in the old one says nothing of it. */
  #isOtherTopic(assigned: AssignedPartition): boolean {
    const topicId = this.#client.metadata.idOf(assigned.topic)
    if (topicId === ZERO_UUID) return false
    assigned.topicId ??= topicId
    return assigned.topicId !== topicId
  }

  #leaderOf({ topic, partition }: AssignedPartition): number | undefined {
    const leaderId = this.#client.metadata.partition(topic, partition)?.leaderId ?? -1
    return leaderId < 0 ? undefined : leaderId
  }

  #ask(node: number, partitions: readonly AssignedPartition[]): void {
    const session = this.#sessions.get(node) ?? new FetchSession(this.#options.fetchSessions)
    this.#sessions.set(node, session)
    const asked = new Map<string, Asked>()
    const targets = partitions.map((assigned): FetchTarget => {
      const { topic, partition, stamp, positionEpoch } = assigned
      const position = assigned.position as number
      assigned.busy = true
      asked.set(partitionKey(assigned), { assigned, stamp, position })
      return {
        topic,
        topicId: this.#client.metadata.idOf(topic),
        partition,
        fetchOffset: position,
        currentLeaderEpoch: this.#client.metadata.partition(topic, partition)?.leaderEpoch ?? -1,
        lastFetchedEpoch: positionEpoch,
        partitionMaxBytes: this.#options.partitionMaxBytes,
      }
    })
    this.#inFlight.add(node)
    this.#send(node, session.next(targets)).whenSettled(result => {
      this.#inFlight.delete(node)
      const current = [...asked.values()].filter(({ assigned, stamp }) => assigned.stamp === stamp)
      for (const { assigned } of current) assigned.busy = false
      if (this.#closed) return
      this.#answered(session, result, asked, current)
      this.#listener.happened()
    })
  }

  #send(node: number, request: SessionRequest) {
    const { maxWaitMs, minBytes, maxBytes, isolationLevel, rackId } = this.#options
    const body = (version: number) => ({
      maxWaitMs: request.sessionEpoch === -1 && request.send.length === 0 ? 0 : maxWaitMs,
      minBytes,
      maxBytes,
      isolationLevel: isolationLevel === 'read_committed' ? 1 : 0,
      sessionId: request.sessionId,
      sessionEpoch: request.sessionEpoch,
      topics: fetchTopics(request, version),
      rackId,
      ...(version >= 7 ? { forgottenTopicsData: forgottenTopics(request) } : {}),
    })
    const timeoutMs = maxWaitMs + this.#client.options.requestTimeoutMs
    return this.#client.request(fetch, body, { broker: node, lane: this.#lane, timeoutMs })
  }

  #answered(
    session: FetchSession,
    result: Result<FetchResponse>,
    asked: ReadonlyMap<string, Asked>,
    current: readonly Asked[],
  ): void {
    const failure = result.ok ? failureOf(result.value.errorCode) : result
    if (failure !== undefined) {
      session.failed(failure.error.code)
      const { code, retriable } = failure.error
      // A session that the broker has lost costs nothing but a full request.
      if (SESSION_ERRORS.has(code)) return
      if (!retriable && code !== 'BROKER_NOT_AVAILABLE') this.#listener.failed(failure.error)
      for (const { assigned } of current) assigned.preferredReplica = undefined
      return this.#postpone(current.map(({ assigned }) => assigned))
    }
    const response = (result as { value: FetchResponse }).value
    session.answered(response.sessionId)
    const late: AssignedPartition[] = []
    for (const { topic: name, topicId, partitions } of response.responses) {
      const topic = name || this.#client.metadata.nameOf(topicId)
      for (const data of partitions) {
        const each = asked.get(`${topic}:${data.partitionIndex}`)
        if (each === undefined || each.assigned.stamp !== each.stamp) continue
        if (data.errorCode === 0) this.#took(each, data)
        else if (this.#refused(each, data, response)) late.push(each.assigned)
      }
    }
    if (late.length > 0) this.#postpone(late)
    else this.#failures = 0
  }

  #took({ assigned, position }: Asked, data: PartitionData): void {
    assigned.highWatermark = data.highWatermark
    assigned.lastStableOffset = data.lastStableOffset
    assigned.logStartOffset = data.logStartOffset
    if (data.divergingEpoch.endOffset >= 0) return this.#truncated(assigned, position, data.divergingEpoch.endOffset)
    if (data.preferredReadReplica >= 0) {
      assigned.preferredReplica = data.preferredReadReplica
      return
    }
    if (data.records === null || data.records.length === 0) return
    const aborted = this.#options.isolationLevel === 'read_committed' ? data.abortedTransactions : null
    const fetched = readFetched(
      data.records,
      { from: position, highWatermark: data.highWatermark },
      aborted,
      this.#client.platform,
    )
    if (fetched.error !== undefined && fetched.nextOffset === position) {
      const where = `${assigned.topic}-${assigned.partition} at offset ${position}`
      return this.#listener.failed(new ClientError(fetched.error.error, `${where}: ${fetched.error.message}`))
    }
    assigned.hold(fetched)
  }

  /** The log was cut and written anew below the position: what was read there is no longer in it (KIP-320). */
  #truncated(assigned: AssignedPartition, position: number, endOffset: number): void {
    const { topic, partition } = assigned
    const message = `${topic}-${partition} was truncated to ${endOffset}, below the position ${position}`
    this.#client.env.log('warn', message)
    if (this.#options.autoOffsetReset === 'none')
      this.#listener.failed(new ClientError('OTTLA_LOG_TRUNCATION', message))
    else assigned.seek(Math.min(position, endOffset))
  }

  /** True when the partition is to be asked for again after a pause. */
  #refused({ assigned }: Asked, data: PartitionData, response: FetchResponse): boolean {
    const { topic, partition } = assigned
    const { error } = failureOf(data.errorCode, `${topic}-${partition}`) as { error: ClientError }
    const wasPreferred = assigned.preferredReplica !== undefined
    assigned.preferredReplica = undefined
    if (error.code === 'OFFSET_OUT_OF_RANGE') {
      // A follower may lag behind: only the leader can say that an offset does not exist.
      if (!wasPreferred) this.#listener.outOfRange(assigned)
      return false
    }
    const { leaderId, leaderEpoch } = data.currentLeader
    const leader = { leaderId, leaderEpoch }
    if (this.#client.metadata.updateLeader(topic, partition, leader, response.nodeEndpoints)) return false
    if (!error.retriable) this.#listener.failed(error)
    return true
  }

  /** Asks who leads, and waits before the next try. */
  #postpone(partitions: readonly AssignedPartition[]): void {
    const wait = this.#client.backoffMs(this.#failures++)
    for (const assigned of partitions) assigned.notBefore = this.#client.env.now() + wait
    this.#client.use(partitions.map(each => each.topic))
    this.#client.refresh()
    this.#client.pause(wait).whenSettled(() => this.#listener.happened())
  }

  *close(): Task<Result<void>> {
    if (this.#closed) return DONE
    this.#closed = true
    const lasts = [...this.#sessions].flatMap(([node, session]) => {
      const last = session.last()
      return last === undefined || this.#inFlight.has(node) ? [] : [this.#send(node, last)]
    })
    yield* until(all(this.#client.env.turns, lasts))
    this.#client.closeLane(this.#lane)
    return DONE
  }
}

const SESSION_ERRORS: ReadonlySet<string> = new Set([
  'FETCH_SESSION_ID_NOT_FOUND',
  'INVALID_FETCH_SESSION_EPOCH',
  'FETCH_SESSION_TOPIC_ID_ERROR',
])
