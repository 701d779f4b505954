import { encodeGroupRecord, type GroupMetadataValue } from '../../../protocol/embedded/group-records.ts'
import type { CoordinatorRecord } from '../../ports.ts'
import { ClassicGroup } from './classic-group.ts'
import { ClassicMember } from './classic-member.ts'
import { subscribedTopicsOf } from './subscribed-topics.ts'

/**
 * A classic group as a record, and back. Only an assigned or an empty group is ever written, so only these two can be
 * read. Follows `GroupCoordinatorRecordHelpers.newGroupMetadataRecord` and `GroupMetadataManager.replay`.
 */

const NO_BYTES = new Uint8Array(0)

/** @param assignments the assignment by member id; members that are not in it get nothing. */
export function groupMetadataRecord(
  group: ClassicGroup,
  assignments: ReadonlyMap<string, Uint8Array>,
): CoordinatorRecord {
  return encodeGroupRecord({
    type: 'groupMetadata',
    key: { group: group.groupId },
    value: {
      protocolType: group.protocolType ?? '',
      generation: group.generationId,
      protocol: group.protocolName ?? null,
      leader: group.leaderId ?? null,
      currentStateTimestamp: group.stateTimestamp ?? -1,
      members: [...group.members.values()].map(member => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        rebalanceTimeout: member.rebalanceTimeoutMs,
        sessionTimeout: member.sessionTimeoutMs,
        subscription: member.metadata(group.protocolName as string),
        assignment: assignments.get(member.memberId) ?? NO_BYTES,
      })),
    },
  })
}

/** A group that exists and has nobody in it yet, whoever may be joining. */
export function newGroupRecord(groupId: string): CoordinatorRecord {
  return groupMetadataRecord(new ClassicGroup(groupId), new Map())
}

export function groupTombstone(groupId: string): CoordinatorRecord {
  return encodeGroupRecord({ type: 'groupMetadata', key: { group: groupId }, value: null })
}

/** What every member is assigned now, to be written again. */
export function assignmentsOf(group: ClassicGroup): Map<string, Uint8Array> {
  return new Map([...group.members.values()].map(member => [member.memberId, member.assignment]))
}

/** The group as its last record has it: stable when it has members, else empty. */
export function restoreGroup(groupId: string, value: GroupMetadataValue): ClassicGroup {
  const group = new ClassicGroup(groupId)
  group.generationId = value.generation
  group.protocolType = value.protocolType === '' ? undefined : value.protocolType
  group.protocolName = value.protocol ?? undefined
  for (const stored of value.members) {
    group.add(
      new ClassicMember({
        memberId: stored.memberId,
        groupInstanceId: stored.groupInstanceId,
        clientId: stored.clientId,
        clientHost: stored.clientHost,
        // Records of version 0 have no rebalance timeout.
        rebalanceTimeoutMs: stored.rebalanceTimeout === -1 ? stored.sessionTimeout : stored.rebalanceTimeout,
        sessionTimeoutMs: stored.sessionTimeout,
        protocolType: value.protocolType,
        protocols: [{ name: value.protocol ?? '', metadata: stored.subscription }],
        assignment: stored.assignment,
      }),
    )
  }
  group.leaderId = value.leader ?? undefined
  group.subscribedTopics = subscribedTopicsOf(group)
  group.restoreState(
    value.members.length === 0 ? 'Empty' : 'Stable',
    value.currentStateTimestamp === -1 ? undefined : value.currentStateTimestamp,
  )
  return group
}
