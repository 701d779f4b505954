import { ERROR_CODES, type ErrorName } from '../../../protocol/errors.ts'
import type { JoinGroupResponse, SyncGroupResponse } from '../group-requests.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { ClassicMember } from './classic-member.ts'

/**
 * The answers to JoinGroup and SyncGroup, the same for all versions; `forVersion` fits a join answer to the one that was asked
 * in. Follows `JoinGroupResponse` and `SyncGroupResponse` of Kafka.
 */

const NO_BYTES = new Uint8Array(0)

export function joinError(error: ErrorName, memberId: string): JoinGroupResponse {
  return {
    errorCode: ERROR_CODES[error],
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    memberId,
    members: [],
  }
}

/** The present generation, as `member` may see it: all members for the leader, none for the others. */
export function joined(group: ClassicGroup, member: ClassicMember): JoinGroupResponse {
  return {
    errorCode: ERROR_CODES.NONE,
    generationId: group.generationId,
    protocolType: group.protocolType ?? null,
    protocolName: group.protocolName ?? null,
    leader: group.leaderId ?? '',
    skipAssignment: false,
    memberId: member.memberId,
    members: group.isLeader(member.memberId) ? joinedMembers(group) : [],
  }
}

function joinedMembers(group: ClassicGroup) {
  return [...group.members.values()].map(member => ({
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    metadata: member.metadata(group.protocolName as string),
  }))
}

/** Before version 7 no protocol is the empty text, from then on null. */
export function forVersion(response: JoinGroupResponse, apiVersion: number): JoinGroupResponse {
  const name = response.protocolName
  return { ...response, protocolName: apiVersion < 7 ? (name ?? '') : name || null }
}

export function syncError(error: ErrorName): SyncGroupResponse {
  return { errorCode: ERROR_CODES[error], protocolType: null, protocolName: null, assignment: NO_BYTES }
}

export function synced(group: ClassicGroup, member: ClassicMember): SyncGroupResponse {
  return {
    errorCode: ERROR_CODES.NONE,
    protocolType: group.protocolType ?? null,
    protocolName: group.protocolName ?? null,
    assignment: member.assignment,
  }
}
