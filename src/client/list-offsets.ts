/** Finds offsets by time, or the ends of partitions: asks all leaders at once, and again those that do not lead any more. */

import { listOffsets } from '../protocol/apis/list-offsets.ts'
import type { KafkaClient } from './client.ts'
import { type ClientError, type Failure, fail, failureOf, ok, type Result } from './result.ts'
import { all, type Task, until } from './task.ts'
import { byTopic, groupBy, partitionKey, type TopicPartition } from './topic-partition.ts'

/** The special timestamps of ListOffsets. */
export const LATEST = -1
export const EARLIEST = -2
export const MAX_TIMESTAMP = -3

export type IsolationLevel = 'read_uncommitted' | 'read_committed'

export interface OffsetQuery extends TopicPartition {
  /** Milliseconds, or one of {@link LATEST}, {@link EARLIEST}, {@link MAX_TIMESTAMP}. */
  readonly timestamp: number
}

export interface OffsetAndTimestamp {
  /** −1 when no record is that new. */
  readonly offset: number
  /** Of the record found; −1 for the ends. */
  readonly timestamp: number
  readonly leaderEpoch: number
}

/** The value is keyed by `topic:partition`. */
export function* findOffsets(
  client: KafkaClient,
  queries: readonly OffsetQuery[],
  isolation: IsolationLevel = 'read_uncommitted',
  timeoutMs = client.options.apiTimeoutMs,
): Task<Result<Map<string, OffsetAndTimestamp>>> {
  const found = new Map<string, OffsetAndTimestamp>()
  const attempt = function* (): Task<Result<void>> {
    const open = queries.filter(query => !found.has(partitionKey(query)))
    const topics = yield* until(client.topics([...new Set(open.map(query => query.topic))], 0))
    if (!topics.ok) return topics
    const leaderOf = (query: OffsetQuery) => client.metadata.partition(query.topic, query.partition)?.leaderId ?? -1
    const laters = [...groupBy(open, leaderOf)].map(([leaderId, mine]) =>
      client.run(askLeader(client, leaderId, mine, isolation, found)),
    )
    const failures = (yield* until(all(client.env.turns, laters))).filter((result): result is Failure => !result.ok)
    if (failures.length === 0) return ok(undefined)
    client.refresh()
    return failures.find(failure => !failure.error.retriable) ?? failures[0]
  }
  const result = yield* client.retry(attempt, timeoutMs)
  return result.ok ? ok(found) : result
}

function* askLeader(
  client: KafkaClient,
  leaderId: number,
  queries: readonly OffsetQuery[],
  isolation: IsolationLevel,
  found: Map<string, OffsetAndTimestamp>,
): Task<Result<void>> {
  if (leaderId < 0) return fail('LEADER_NOT_AVAILABLE', `no leader for ${partitionKey(queries[0])}`)
  const timestamps = new Map(queries.map(query => [partitionKey(query), query.timestamp]))
  const body = (version: number) => ({
    replicaId: -1,
    ...(version >= 2 ? { isolationLevel: isolation === 'read_committed' ? 1 : 0 } : {}),
    topics: [...byTopic(queries)].map(([name, partitions]) => ({
      name,
      partitions: partitions.map(partitionIndex => ({
        partitionIndex,
        currentLeaderEpoch: client.metadata.partition(name, partitionIndex)?.leaderEpoch ?? -1,
        timestamp: timestamps.get(partitionKey({ topic: name, partition: partitionIndex })) as number,
      })),
    })),
    timeoutMs: client.options.requestTimeoutMs,
  })
  const reply = yield* until(client.request(listOffsets, body, { broker: leaderId }))
  // A leader that is not among the brokers, or does not answer, may have been replaced.
  if (!reply.ok) return reply.error.code === 'BROKER_NOT_AVAILABLE' ? fail('LEADER_NOT_AVAILABLE') : reply
  let error: ClientError | undefined
  for (const { name, partitions } of reply.value.topics) {
    for (const { partitionIndex, errorCode, offset, timestamp, leaderEpoch } of partitions) {
      const failure = failureOf(errorCode, `${name}-${partitionIndex}`)
      if (failure === undefined) {
        found.set(partitionKey({ topic: name, partition: partitionIndex }), { offset, timestamp, leaderEpoch })
      } else if (error === undefined || !failure.error.retriable) error = failure.error
    }
  }
  return error === undefined ? ok(undefined) : { ok: false, error }
}
