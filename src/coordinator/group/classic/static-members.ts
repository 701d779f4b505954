import type { Later } from '../../../util/later.ts'
import type { Decision } from '../../decision.ts'
import type { GroupContext, JoinGroupRequest, JoinGroupResponse } from '../group-requests.ts'
import { type ClassicContext, sessionKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { ClassicMember } from './classic-member.ts'
import { reasonOf } from './join-reason.ts'
import { maybeCompleteJoin, prepareRebalance, rebalanceOrCompleteJoin } from './rebalance.ts'
import { assignmentsOf, groupMetadataRecord } from './records.ts'
import { joinError, joined, syncError } from './responses.ts'
import { scheduleSession } from './sessions.ts'

/**
 * A static member (KIP-345) comes back under its instance id without knowing its member id: it takes over from the
 * one before, with its assignment, and if it can be without a rebalance. Follows
 * `updateStaticMemberThenRebalanceOrCompleteJoin` of `GroupMetadataManager`.
 */

/** From this version on a leader can be told that there is nothing to assign (KIP-814). */
const CAN_SKIP_ASSIGNMENT = 9

export function replaceStaticMember(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  request: JoinGroupRequest,
  caller: GroupContext,
  oldMemberId: string,
  newMemberId: string,
): Later<JoinGroupResponse> {
  const formerLeader = group.leaderId
  const before = group.member(oldMemberId)
  const member = takeOver(context, group, before, newMemberId)
  // Its session goes on as the one before had asked for; what it asks for itself counts from its next heartbeat.
  scheduleSession(context, group, member)
  member.protocols = request.protocols
  member.rebalanceTimeoutMs = request.rebalanceTimeoutMs
  member.sessionTimeoutMs = request.sessionTimeoutMs
  const reply = member.parkJoin(context.env.turns)
  const reason = `${newMemberId} takes over instance ${request.groupInstanceId}; client says: ${reasonOf(request)}`

  if (group.isIn('Stable')) {
    if (group.protocolName !== group.selectProtocol()) {
      rebalanceOrCompleteJoin(context, decision, group, reason)
    } else {
      storeReplacement(context, decision, group, before, member, caller, formerLeader)
    }
  } else if (group.isIn('CompletingRebalance')) {
    // The leader may already have been told the old member id, and would assign to nobody.
    prepareRebalance(context, decision, group, reason)
  } else {
    maybeCompleteJoin(context, decision, group)
  }
  return reply
}

/** Puts a member under a new id in the place of `before`, whose requests are answered FENCED_INSTANCE_ID. */
function takeOver(
  context: ClassicContext,
  group: ClassicGroup,
  before: ClassicMember,
  newMemberId: string,
): ClassicMember {
  const member = before.withMemberId(newMemberId)
  before.answerJoin(joinError('FENCED_INSTANCE_ID', before.memberId))
  before.answerSync(syncError('FENCED_INSTANCE_ID'))
  group.replace(before.memberId, member)
  context.timers.cancel(sessionKey(group.groupId, before.memberId))
  return member
}

/** No rebalance is needed: the generation and its assignments stay, only who holds them is written anew. */
function storeReplacement(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  before: ClassicMember,
  member: ClassicMember,
  caller: GroupContext,
  formerLeader: string | undefined,
): void {
  decision.append(groupMetadataRecord(group, assignmentsOf(group)))
  decision.whenCommitted(() => member.answerJoin(replaced(group, member, caller, formerLeader)))
  decision.whenFailed((error, _next, appended) => {
    const { generationId, protocolType, protocolName } = joined(group, member)
    const told = { generationId, protocolType, protocolName, leader: formerLeader ?? '' }
    member.answerJoin({ ...joinError(error, ''), ...told })
    // If the record is in the log, the new holder is the holder, and will be told so when it tries again.
    if (appended || group.members.get(member.memberId) !== member) return
    group.replace(member.memberId, before)
    context.timers.cancel(sessionKey(group.groupId, member.memberId))
    scheduleSession(context, group, before)
  })
}

/**
 * A leader must not assign again, which would be another generation for all others: it is told so, or, in versions
 * that cannot say it, is made to believe that the leader is still the member id before.
 */
function replaced(
  group: ClassicGroup,
  member: ClassicMember,
  caller: GroupContext,
  formerLeader: string | undefined,
): JoinGroupResponse {
  const response = joined(group, member)
  if (caller.apiVersion >= CAN_SKIP_ASSIGNMENT) {
    return { ...response, skipAssignment: group.isLeader(member.memberId) }
  }
  return { ...response, leader: formerLeader ?? '', members: [] }
}
