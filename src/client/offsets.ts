/** Committed offsets of a group: stores and reads them, as a member or from outside. */

import { offsetCommit } from '../protocol/apis/offset-commit.ts'
import { offsetFetch } from '../protocol/apis/offset-fetch.ts'
import type { Decoded } from '../protocol/dsl.ts'
import type { KafkaClient } from './client.ts'
import { DONE, type Failure, failureOf, ok, type Result } from './result.ts'
import { type Task, until } from './task.ts'
import { byTopic, groupBy, partitionKey, type TopicPartition } from './topic-partition.ts'

/** A place to commit: the offset of the next record to read. */
export interface OffsetToCommit extends TopicPartition {
  readonly offset: number
  /** Of the record before it; −1, the default, when not known. */
  readonly leaderEpoch?: number
  /** Anything; the broker limits its length. */
  readonly metadata?: string | null
}

export interface CommittedOffset {
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string | null
}

/** Who commits; left out for somebody outside of the group, which the broker allows while the group has no members. */
export interface CommittingMember {
  readonly memberId: string
  readonly generation: number
  readonly groupInstanceId: string | null
  readonly lane: string
}

const OUTSIDER = { memberId: '', generation: -1, groupInstanceId: null, lane: 'coordinator' }

/** Stores offsets. The error is that of the first partition that has one, fatal ones first. */
export function* commitOffsets(
  client: KafkaClient,
  groupId: string,
  offsets: readonly OffsetToCommit[],
  member: CommittingMember = OUTSIDER,
): Task<Result<void>> {
  if (offsets.length === 0) return DONE
  const topics = groupBy(offsets, each => each.topic)
  const body = () => ({
    groupId,
    generationIdOrMemberEpoch: member.generation,
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    topics: [...topics].map(([name, partitions]) => ({
      name,
      topicId: client.metadata.idOf(name),
      partitions: partitions.map(each => ({
        partitionIndex: each.partition,
        committedOffset: each.offset,
        committedLeaderEpoch: each.leaderEpoch ?? -1,
        committedMetadata: each.metadata ?? '',
      })),
    })),
  })
  const attempt = function* (): Task<Result<void>> {
    // Since version 10 topics are named by their id, so it must be known.
    const known = yield* until(client.topics([...topics.keys()], 0))
    if (!known.ok) return known
    const reply = yield* client.askCoordinator(groupId, offsetCommit, body, commitFailure, { lane: member.lane })
    if (!reply.ok && reply.error.code === 'UNKNOWN_TOPIC_ID') client.refresh()
    return reply.ok ? DONE : reply
  }
  return yield* client.retry(attempt)
}

function commitFailure({ topics }: Decoded<typeof offsetCommit.response>): Failure | undefined {
  const failures = topics.flatMap(({ name, topicId, partitions }) =>
    partitions.flatMap(each => failureOf(each.errorCode, `${name || topicId}-${each.partitionIndex}`) ?? []),
  )
  return failures.find(failure => !failure.error.retriable) ?? failures[0]
}

type FetchedTopics = Decoded<typeof offsetFetch.response>['groups'][number]['topics']

/**
 * Reads committed offsets, of `partitions` or, with null, all that the group has. Keyed by `topic:partition`; a partition
 * without a committed offset is not in it.
 */
export function* committedOffsets(
  client: KafkaClient,
  groupId: string,
  partitions: readonly TopicPartition[] | null,
  lane = 'coordinator',
): Task<Result<Map<string, CommittedOffset>>> {
  if (partitions?.length === 0) return ok(new Map())
  const wanted = partitions === null ? null : [...byTopic(partitions)]
  const body = (version: number) => {
    // An open transaction may yet change what is committed: the broker is to say so, and we ask again (KIP-447).
    const stable = version >= 7 ? { requireStable: true } : {}
    const topics = wanted?.map(([name, partitionIndexes]) => ({
      name,
      topicId: client.metadata.idOf(name),
      partitionIndexes,
    }))
    if (version < 8) return { groupId, topics: topics ?? null, ...stable }
    return { groups: [{ groupId, topics: topics ?? null }], ...stable }
  }
  const attempt = function* (): Task<Result<Map<string, CommittedOffset>>> {
    if (wanted !== null) {
      const known = yield* until(
        client.topics(
          wanted.map(([name]) => name),
          0,
        ),
      )
      if (!known.ok) return known
    }
    const reply = yield* client.askCoordinator(groupId, offsetFetch, body, fetchFailure, { lane })
    if (!reply.ok) {
      if (reply.error.code === 'UNKNOWN_TOPIC_ID') client.refresh()
      return reply
    }
    return ok(readCommitted(client, topicsOf(reply.value)))
  }
  return yield* client.retry(attempt)
}

function topicsOf({ groups, topics }: Decoded<typeof offsetFetch.response>): FetchedTopics {
  return groups[0]?.topics ?? (topics as unknown as FetchedTopics)
}

function fetchFailure(response: Decoded<typeof offsetFetch.response>): Failure | undefined {
  const failure = failureOf(response.groups[0]?.errorCode ?? response.errorCode)
  if (failure !== undefined) return failure
  const failures = topicsOf(response).flatMap(({ name, topicId, partitions }) =>
    partitions.flatMap(each => failureOf(each.errorCode, `${name || topicId}-${each.partitionIndex}`) ?? []),
  )
  return failures.find(each => !each.error.retriable) ?? failures[0]
}

function readCommitted(client: KafkaClient, topics: FetchedTopics): Map<string, CommittedOffset> {
  const committed = new Map<string, CommittedOffset>()
  for (const { name, topicId, partitions } of topics) {
    // A topic that nobody here has heard of is named by its id: better than not at all.
    const topic = name || (client.metadata.nameOf(topicId) ?? topicId)
    for (const { partitionIndex, committedOffset, committedLeaderEpoch, metadata } of partitions) {
      if (committedOffset < 0) continue
      const value = { offset: committedOffset, leaderEpoch: committedLeaderEpoch, metadata }
      committed.set(partitionKey({ topic, partition: partitionIndex }), value)
    }
  }
  return committed
}
