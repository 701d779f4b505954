import { ERROR_CODES, type ErrorName, KafkaError } from '../../../protocol/errors.ts'
import type { Decision } from '../../decision.ts'
import type { TopicsView } from '../../ports.ts'
import type { ClassicContext } from '../classic/classic-context.ts'
import type { ClassicGroup } from '../classic/classic-group.ts'
import { scheduleSession } from '../classic/sessions.ts'
import type { GroupContext, OffsetCommitRequest, OffsetCommitResponse } from '../group-requests.ts'
import { offsetRecord } from './offset-store.ts'

/**
 * OffsetCommit: who may commit in which state of the group, and what is stored. Follows
 * `OffsetMetadataManager.commitOffset`, `ClassicGroup.validateOffsetCommit` and `KafkaApis.handleOffsetCommitRequest`.
 */

type CommitTopic = OffsetCommitRequest['topics'][number]
type AnsweredPartition = { partitionIndex: number; errorCode: number }
type CommitPartition = CommitTopic['partitions'][number]

/** From this version on topics come by id. */
export const TOPIC_IDS_SINCE = 10

/** The topics of a request, each with what the broker knows of it. */
export interface ResolvedTopic {
  readonly topic: CommitTopic
  readonly name: string
  readonly topicId: string
  readonly partitions: number
  /** What all its partitions are answered, when the topic is not known. */
  readonly error: ErrorName | undefined
}

export function resolveTopics(request: OffsetCommitRequest, view: TopicsView, apiVersion: number): ResolvedTopic[] {
  return request.topics.map(topic => {
    const { name, topicId } = topic
    if (apiVersion >= TOPIC_IDS_SINCE) {
      const known = view.topicById(topicId)
      if (known === undefined) return { topic, name, topicId, partitions: 0, error: 'UNKNOWN_TOPIC_ID' }
      return { topic, name: known.name, topicId, partitions: known.partitions, error: undefined }
    }
    const known = view.topicByName(name)
    if (known === undefined) return { topic, name, topicId, partitions: 0, error: 'UNKNOWN_TOPIC_OR_PARTITION' }
    return { topic, name, topicId: known.topicId, partitions: known.partitions, error: undefined }
  })
}

/** What a partition is answered whatever the group says, or undefined. */
function unknown(resolved: ResolvedTopic, partition: CommitPartition): ErrorName | undefined {
  if (resolved.error !== undefined) return resolved.error
  const exists = partition.partitionIndex >= 0 && partition.partitionIndex < resolved.partitions
  return exists ? undefined : 'UNKNOWN_TOPIC_OR_PARTITION'
}

/** Whether there is anything to ask the group. */
export function somethingToCommit(topics: readonly ResolvedTopic[]): boolean {
  return topics.some(resolved => resolved.topic.partitions.some(each => unknown(resolved, each) === undefined))
}

/** Answers each partition: what is not known says so, for the others `answer` is asked. */
export function commitResponse(
  topics: readonly ResolvedTopic[],
  answer: (topic: ResolvedTopic, partition: CommitPartition) => ErrorName,
): OffsetCommitResponse {
  const answered = new Map<string, { name: string; topicId: string; partitions: AnsweredPartition[] }>()
  for (const resolved of topics) {
    const { name, topicId } = resolved
    const partitions = resolved.topic.partitions.map(partition => ({
      partitionIndex: partition.partitionIndex,
      errorCode: ERROR_CODES[unknown(resolved, partition) ?? answer(resolved, partition)],
    }))
    // A topic that is named twice is answered once.
    const key = name || topicId
    const before = answered.get(key)
    if (before === undefined) answered.set(key, { name, topicId, partitions })
    else for (const partition of partitions) before.partitions.push(partition)
  }
  return { topics: [...answered.values()] }
}

/** @throws KafkaError when the group takes none of it. */
export function commitOffsets(
  context: ClassicContext,
  decision: Decision,
  request: OffsetCommitRequest,
  topics: readonly ResolvedTopic[],
  caller: GroupContext,
): OffsetCommitResponse {
  const { groupId, retentionTimeMs } = request
  const group = context.groups.get(groupId)
  const refusal = refusalOf(group, request, caller.apiVersion)
  if (refusal !== undefined) throw new KafkaError(refusal)
  // A commit is a sign of life.
  if (group?.isIn('Stable', 'PreparingRebalance')) scheduleSession(context, group, group.member(request.memberId))

  const expireTimestamp = retentionTimeMs === -1 ? -1 : decision.now + retentionTimeMs
  const maxBytes = context.config().offsetMetadataMaxBytes
  return commitResponse(topics, ({ name, topicId }, partition) => {
    const metadata = partition.committedMetadata ?? ''
    if (metadata.length > maxBytes) return 'OFFSET_METADATA_TOO_LARGE'
    decision.append(
      offsetRecord(groupId, name, partition.partitionIndex, {
        offset: partition.committedOffset,
        leaderEpoch: partition.committedLeaderEpoch,
        metadata,
        commitTimestamp: decision.now,
        expireTimestamp,
        topicId,
      }),
    )
    return 'NONE'
  })
}

/**
 * Members commit for their generation; whoever is no member may commit while there are none, which is how consumers
 * that assign themselves and administrators do it.
 */
function refusalOf(
  group: ClassicGroup | undefined,
  request: OffsetCommitRequest,
  apiVersion: number,
): ErrorName | undefined {
  const { memberId, groupInstanceId, generationIdOrMemberEpoch: generationId } = request
  if (group === undefined) {
    if (generationId < 0) return undefined
    return apiVersion >= 9 ? 'GROUP_ID_NOT_FOUND' : 'ILLEGAL_GENERATION'
  }
  if (generationId < 0 && group.isIn('Empty')) return undefined
  const refusal = group.refusalOf(memberId, groupInstanceId)
  if (refusal !== undefined) return refusal
  if (generationId !== group.generationId) return 'ILLEGAL_GENERATION'
  // It knows its generation and not yet what it owns: it commits what it owned before, too late.
  return group.isIn('CompletingRebalance') ? 'REBALANCE_IN_PROGRESS' : undefined
}
