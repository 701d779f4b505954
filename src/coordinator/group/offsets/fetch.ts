import { ERROR_CODES, type ErrorName } from '../../../protocol/errors.ts'
import { ZERO_UUID } from '../../../util/uuid.ts'
import type { TopicsView } from '../../ports.ts'
import type { OffsetFetchRequest, OffsetFetchResponse } from '../group-requests.ts'
import { TOPIC_IDS_SINCE } from './commit.ts'
import { type CommittedOffset, isOfAnotherTopic, type OffsetStore } from './offset-store.ts'

/**
 * OffsetFetch, in the layout of one group (to version 7) and of several (from version 8). A classic group does not mind
 * who asks. Follows `OffsetMetadataManager.fetchOffsets`, `fetchAllOffsets` and `KafkaApis`.
 */

/** What is asked of one group, whichever layout it came in. */
export type FetchGroup = OffsetFetchRequest['groups'][number]

interface FetchedPartition {
  readonly partitionIndex: number
  readonly committedOffset: number
  readonly committedLeaderEpoch: number
  readonly metadata: string
  readonly errorCode: number
}

export interface FetchedGroup {
  readonly groupId: string
  readonly topics: readonly {
    readonly name: string
    readonly topicId: string
    readonly partitions: readonly FetchedPartition[]
  }[]
  readonly errorCode: number
}

/** From this version on a request names several groups. */
const SEVERAL_GROUPS_SINCE = 8

export function groupsOf(request: OffsetFetchRequest, apiVersion: number): FetchGroup[] {
  if (apiVersion >= SEVERAL_GROUPS_SINCE) return request.groups
  const topics = request.topics?.map(topic => ({ ...topic, topicId: ZERO_UUID })) ?? null
  return [{ groupId: request.groupId, memberId: null, memberEpoch: -1, topics }]
}

export function fetchOffsets(
  store: OffsetStore,
  view: TopicsView,
  group: FetchGroup,
  apiVersion: number,
): FetchedGroup {
  const byId = apiVersion >= TOPIC_IDS_SINCE
  const { groupId } = group
  if (group.topics === null) return fetchAllOffsets(store, view, groupId, byId)
  const topics = group.topics.map(asked => {
    const name = byId ? view.topicById(asked.topicId)?.name : asked.name
    const topicId = byId ? asked.topicId : view.topicByName(asked.name)?.topicId
    const partitions = asked.partitionIndexes.map(partitionIndex => {
      if (name === undefined) return nothing(partitionIndex, 'UNKNOWN_TOPIC_ID')
      const offset = store.get(groupId, name, partitionIndex)
      return offset === undefined || isOfAnotherTopic(offset, topicId)
        ? nothing(partitionIndex, 'NONE')
        : fetched(partitionIndex, offset)
    })
    return { name: name ?? asked.name, topicId: topicId ?? ZERO_UUID, partitions }
  })
  return { groupId, topics, errorCode: ERROR_CODES.NONE }
}

function fetchAllOffsets(store: OffsetStore, view: TopicsView, groupId: string, byId: boolean): FetchedGroup {
  const topics = []
  for (const [name, offsets] of store.of(groupId)) {
    const topicId = view.topicByName(name)?.topicId
    // A topic that is gone has no id to be told by.
    if (byId && topicId === undefined) continue
    const partitions: FetchedPartition[] = []
    for (const [partitionIndex, offset] of offsets) {
      if (!isOfAnotherTopic(offset, topicId)) partitions.push(fetched(partitionIndex, offset))
    }
    if (partitions.length > 0) topics.push({ name, topicId: topicId ?? ZERO_UUID, partitions })
  }
  return { groupId, topics, errorCode: ERROR_CODES.NONE }
}

function fetched(partitionIndex: number, offset: CommittedOffset): FetchedPartition {
  return {
    partitionIndex,
    committedOffset: offset.offset,
    committedLeaderEpoch: offset.leaderEpoch,
    metadata: offset.metadata,
    errorCode: ERROR_CODES.NONE,
  }
}

function nothing(partitionIndex: number, error: ErrorName): FetchedPartition {
  return {
    partitionIndex,
    committedOffset: -1,
    committedLeaderEpoch: -1,
    metadata: '',
    errorCode: ERROR_CODES[error],
  }
}

/** Before version 2 there is no place for the error of a group, so each partition has it. */
export function fetchError(group: FetchGroup, error: ErrorName, apiVersion: number): FetchedGroup {
  const topics =
    apiVersion >= 2
      ? []
      : (group.topics ?? []).map(({ name, topicId, partitionIndexes }) => ({
          name,
          topicId,
          partitions: partitionIndexes.map(partitionIndex => nothing(partitionIndex, error)),
        }))
  return { groupId: group.groupId, topics, errorCode: ERROR_CODES[error] }
}

export function fetchResponse(groups: readonly FetchedGroup[], apiVersion: number): OffsetFetchResponse {
  if (apiVersion >= SEVERAL_GROUPS_SINCE) return { groups }
  const [{ topics, errorCode }] = groups
  return { topics, errorCode }
}
