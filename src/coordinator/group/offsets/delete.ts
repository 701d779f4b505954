import { ERROR_CODES, type ErrorName, KafkaError } from '../../../protocol/errors.ts'
import type { Decision } from '../../decision.ts'
import type { TopicsView } from '../../ports.ts'
import type { ClassicContext } from '../classic/classic-context.ts'
import type { OffsetDeleteRequest, OffsetDeleteResponse } from '../group-requests.ts'
import { isOfAnotherTopic, type OffsetStore, offsetTombstone } from './offset-store.ts'

/**
 * How committed offsets go before their time: OffsetDelete, and the deletion of topics. Follows
 * `OffsetMetadataManager.deleteOffsets` and `onTopicsDeleted`, and `KafkaApis.handleOffsetDeleteRequest`.
 */

type DeleteTopic = OffsetDeleteRequest['topics'][number]

/** Answers each partition: what does not exist says so, for the others `answer` is asked. */
function deleteResponse(
  request: OffsetDeleteRequest,
  view: TopicsView,
  answer: (topic: string, partition: number) => ErrorName,
): OffsetDeleteResponse {
  return {
    errorCode: ERROR_CODES.NONE,
    topics: request.topics.map(topic => ({
      name: topic.name,
      partitions: topic.partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode:
          ERROR_CODES[
            exists(view, topic, partitionIndex) ? answer(topic.name, partitionIndex) : 'UNKNOWN_TOPIC_OR_PARTITION'
          ],
      })),
    })),
  }
}

function exists(view: TopicsView, topic: DeleteTopic, partition: number): boolean {
  const known = view.topicByName(topic.name)
  return known !== undefined && partition >= 0 && partition < known.partitions
}

/** @throws KafkaError when the group takes none of it. */
export function deleteOffsets(
  context: ClassicContext,
  store: OffsetStore,
  view: TopicsView,
  decision: Decision,
  request: OffsetDeleteRequest,
): OffsetDeleteResponse {
  const { groupId } = request
  const group = context.groups.get(groupId)
  if (group === undefined) throw new KafkaError('GROUP_ID_NOT_FOUND')
  // What a group of another type uses cannot be told, so it has to be empty.
  if (!group.isIn('Empty') && !group.usesConsumerProtocol) throw new KafkaError('NON_EMPTY_GROUP')
  return deleteResponse(request, view, (topic, partition) => {
    if (group.isSubscribedTo(topic)) return 'GROUP_SUBSCRIBED_TO_TOPIC'
    if (store.get(groupId, topic, partition) !== undefined) {
      decision.append(offsetTombstone(groupId, topic, partition))
    }
    return 'NONE'
  })
}

/** A topic that was deleted. */
export interface DeletedTopic {
  readonly name: string
  readonly topicId: string
}

/**
 * Deletes what was committed for these topics, at most `limit` offsets.
 *
 * @returns whether there is more.
 */
export function deleteTopicOffsets(
  store: OffsetStore,
  decision: Decision,
  topics: readonly DeletedTopic[],
  limit: number,
): boolean {
  for (const groupId of store.groupIds) {
    for (const { name, topicId } of topics) {
      for (const [partition, offset] of store.of(groupId).get(name) ?? []) {
        // The name may have been taken again, and committed to, before we heard of the deletion.
        if (isOfAnotherTopic(offset, topicId)) continue
        if (decision.records.length >= limit) return true
        decision.append(offsetTombstone(groupId, name, partition))
      }
    }
  }
  return false
}
