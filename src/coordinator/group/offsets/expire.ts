import type { Decision } from '../../decision.ts'
import type { TopicsView } from '../../ports.ts'
import type { ClassicContext } from '../classic/classic-context.ts'
import type { ClassicGroup } from '../classic/classic-group.ts'
import { groupTombstone } from '../classic/records.ts'
import { type CommittedOffset, isOfAnotherTopic, type OffsetStore, offsetTombstone } from './offset-store.ts'

/**
 * Offsets that nobody needs any more, and groups that have neither members nor offsets (KIP-211). Follows
 * `OffsetMetadataManager.cleanupExpiredOffsets`, `ClassicGroup.offsetExpirationCondition` and
 * `GroupMetadataManager.maybeDeleteGroup`.
 */

/**
 * Writes tombstones for what has expired, group by group, until there are `limit` of them.
 *
 * @returns whether there may be more.
 */
export function expireOffsets(
  context: ClassicContext,
  store: OffsetStore,
  view: TopicsView,
  decision: Decision,
  limit: number,
): boolean {
  for (const group of context.groups.values()) {
    if (decision.records.length >= limit) return true
    const expired = expireGroup(context, store, view, decision, group)
    if (expired && group.isIn('Empty')) decision.append(groupTombstone(group.groupId))
  }
  return false
}

/** @returns whether the group has no offset left. */
function expireGroup(
  context: ClassicContext,
  store: OffsetStore,
  view: TopicsView,
  decision: Decision,
  group: ClassicGroup,
): boolean {
  let all = true
  for (const [topic, partitions] of store.of(group.groupId)) {
    const topicId = view.topicByName(topic)?.topicId
    for (const [partition, offset] of partitions) {
      if (isOfAnotherTopic(offset, topicId) || hasExpired(context, group, topic, offset, decision.now)) {
        decision.append(offsetTombstone(group.groupId, topic, partition))
      } else {
        all = false
      }
    }
  }
  return all
}

/**
 * A group without members keeps its offsets for the retention time after the last one left; a consumer group with
 * members keeps those of its topics, and others for the retention time after the commit, which is also the rule for
 * offsets without a group. What came with a retention time of its own (OffsetCommit 2 to 4) expires by that.
 */
function hasExpired(
  context: ClassicContext,
  group: ClassicGroup,
  topic: string,
  offset: CommittedOffset,
  now: number,
): boolean {
  if (group.isSubscribedTo(topic)) return false
  const since = retainedSince(group, offset)
  if (since === undefined) return false
  if (offset.expireTimestamp !== -1) return now >= offset.expireTimestamp
  return now - since >= context.config().offsetsRetentionMs
}

/** From when on the retention time counts; undefined when nothing of the group may expire now. */
function retainedSince(group: ClassicGroup, offset: CommittedOffset): number | undefined {
  if (group.protocolType === undefined) return offset.commitTimestamp
  if (group.isIn('Empty')) return group.stateTimestamp ?? offset.commitTimestamp
  const tellsTopics = group.usesConsumerProtocol && group.subscribedTopics !== undefined
  return tellsTopics && group.isIn('Stable') ? offset.commitTimestamp : undefined
}
