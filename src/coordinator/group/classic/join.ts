import type { Later } from '../../../util/later.ts'
import { randomDashedUuid } from '../../../util/uuid.ts'
import type { Decision } from '../../decision.ts'
import type { GroupContext, JoinGroupRequest, JoinGroupResponse } from '../group-requests.ts'
import { type ClassicContext, cancelTimers, sessionKey } from './classic-context.ts'
import { ClassicGroup } from './classic-group.ts'
import { ClassicMember } from './classic-member.ts'
import { reasonOf } from './join-reason.ts'
import { rebalanceOrCompleteJoin } from './rebalance.ts'
import { newGroupRecord } from './records.ts'
import { joinError, joined } from './responses.ts'
import { scheduleSession, startSession } from './sessions.ts'
import { replaceStaticMember } from './static-members.ts'

/**
 * JoinGroup: a new member, a member id that was given out before, or a member that joins again. The join of a static
 * member with a known instance id is in `static-members.ts`. Follows `classicGroupJoinToClassicGroup` and what it
 * calls in `GroupMetadataManager`.
 */

/** From this version on a dynamic member has to come back with the id that it is given (KIP-394). */
const REQUIRES_MEMBER_ID = 4

export type JoinReply = JoinGroupResponse | Later<JoinGroupResponse>

export function joinGroup(
  context: ClassicContext,
  decision: Decision,
  request: JoinGroupRequest,
  caller: GroupContext,
): JoinReply {
  const { groupId, memberId } = request
  const known = context.groups.get(groupId)
  if (known !== undefined) return joinExistingGroup(context, decision, known, request, caller)
  // An id can only have been given out by a group that exists.
  if (memberId !== '') return joinError('UNKNOWN_MEMBER_ID', memberId)

  const group = new ClassicGroup(groupId)
  context.groups.set(groupId, group)
  const reply = joinExistingGroup(context, decision, group, request, caller)
  // The group has to be in the log, so that it exists whoever leads the partition next.
  if (decision.records.length === 0) decision.append(newGroupRecord(groupId))
  decision.whenFailed((error, _next, appended) => {
    if (appended || context.groups.get(groupId) !== group) return
    context.groups.delete(groupId)
    cancelTimers(context, group)
    for (const member of group.members.values()) member.answerJoin(joinError(error, ''))
  })
  return reply
}

function joinExistingGroup(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  request: JoinGroupRequest,
  caller: GroupContext,
): JoinReply {
  const { memberId } = request
  if (!accepts(context, group, memberId)) {
    group.remove(memberId)
    context.timers.cancel(sessionKey(group.groupId, memberId))
    return joinError('GROUP_MAX_SIZE_REACHED', '')
  }
  if (!group.supportsProtocols(request.protocolType, request.protocols)) {
    return joinError('INCONSISTENT_GROUP_PROTOCOL', memberId)
  }
  return memberId === ''
    ? joinNewMember(context, decision, group, request, caller)
    : joinKnownMember(context, decision, group, request, caller)
}

/**
 * Whether there is room. While members are joining only those who did count: that way a group that was made smaller
 * by configuration drops whoever comes last.
 */
function accepts(context: ClassicContext, group: ClassicGroup, memberId: string): boolean {
  const maxSize = context.config().maxSize
  switch (group.state) {
    case 'Empty':
      return true
    case 'PreparingRebalance':
      return group.members.get(memberId)?.awaitingJoin !== undefined || group.awaitingJoinCount < maxSize
    case 'CompletingRebalance':
    case 'Stable':
      return group.members.has(memberId) || group.members.size < maxSize
  }
}

function joinNewMember(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  request: JoinGroupRequest,
  caller: GroupContext,
): JoinReply {
  const { groupInstanceId } = request
  // A client without an id is one with an empty id, as in Kafka.
  const newMemberId = `${groupInstanceId ?? caller.clientId ?? ''}-${randomDashedUuid(() => context.env.random())}`
  if (groupInstanceId !== null) {
    const holder = group.staticMembers.get(groupInstanceId)
    if (holder !== undefined) {
      return replaceStaticMember(context, decision, group, request, caller, holder, newMemberId)
    }
  } else if (caller.apiVersion >= REQUIRES_MEMBER_ID) {
    group.pendingJoin.add(newMemberId)
    startSession(context, group, newMemberId, request.sessionTimeoutMs)
    return joinError('MEMBER_ID_REQUIRED', newMemberId)
  }
  return addMember(context, decision, group, request, caller, newMemberId)
}

function joinKnownMember(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  request: JoinGroupRequest,
  caller: GroupContext,
): JoinReply {
  const { memberId, groupInstanceId, protocols } = request
  if (group.pendingJoin.has(memberId)) {
    // Static members are never given an id to come back with; Kafka fails over this one in the same way.
    if (groupInstanceId !== null) return joinError('UNKNOWN_SERVER_ERROR', memberId)
    return addMember(context, decision, group, request, caller, memberId)
  }
  const refusal = group.refusalOf(memberId, groupInstanceId)
  if (refusal !== undefined) return joinError(refusal, memberId)
  const member = group.member(memberId)
  const unchanged = member.matches(protocols)
  switch (group.state) {
    case 'PreparingRebalance':
      return updateMember(context, decision, group, member, request, 'joined during the rebalance')
    case 'CompletingRebalance':
      // The answer to its first join may have been lost: the generation is the same.
      if (unchanged) return joined(group, member)
      return updateMember(context, decision, group, member, request, 'changed its metadata before the sync')
    case 'Stable':
      // A leader that joins again wants new assignments, for reasons that its metadata need not show.
      if (group.isLeader(memberId)) return updateMember(context, decision, group, member, request, 'the leader joined')
      if (unchanged) return joined(group, member)
      return updateMember(context, decision, group, member, request, 'changed its metadata')
    case 'Empty':
      return joinError('UNKNOWN_MEMBER_ID', memberId)
  }
}

function addMember(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  request: JoinGroupRequest,
  caller: GroupContext,
  memberId: string,
): JoinReply {
  const member = new ClassicMember({
    memberId,
    groupInstanceId: request.groupInstanceId,
    clientId: caller.clientId ?? '',
    clientHost: caller.clientHost,
    rebalanceTimeoutMs: request.rebalanceTimeoutMs,
    sessionTimeoutMs: request.sessionTimeoutMs,
    protocolType: request.protocolType,
    protocols: request.protocols,
  })
  member.isNew = true
  if (group.isIn('PreparingRebalance') && group.previousState === 'Empty') group.newMemberAdded = true
  group.add(member)
  const reply = member.parkJoin(context.env.turns)
  // It cannot send heartbeats yet, so its session says nothing; but a client that gave up and joined as somebody else
  // must not be waited for until all others have gone.
  scheduleSession(context, group, member, context.config().newMemberJoinTimeoutMs)
  rebalanceOrCompleteJoin(context, decision, group, `${memberId} is new; client says: ${reasonOf(request)}`)
  return reply
}

function updateMember(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  member: ClassicMember,
  request: JoinGroupRequest,
  why: string,
): JoinReply {
  member.protocols = request.protocols
  member.rebalanceTimeoutMs = request.rebalanceTimeoutMs
  member.sessionTimeoutMs = request.sessionTimeoutMs
  const reply = member.parkJoin(context.env.turns)
  rebalanceOrCompleteJoin(context, decision, group, `${member.memberId} ${why}; client says: ${reasonOf(request)}`)
  return reply
}
