import type { Decision } from '../../decision.ts'
import { type ClassicContext, sessionKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import type { ClassicMember } from './classic-member.ts'
import { joinError, syncError } from './responses.ts'

/**
 * Sessions: every member, and every member id that was given out, has a timer that starts anew whenever it is heard
 * of. What happens when it ends is in `timeouts.ts`. Follows `rescheduleClassicGroupMemberHeartbeat` of
 * `GroupMetadataManager`.
 */
export function scheduleSession(
  context: ClassicContext,
  group: ClassicGroup,
  member: ClassicMember,
  timeoutMs: number = member.sessionTimeoutMs,
): void {
  startSession(context, group, member.memberId, timeoutMs)
}

/** The same for a member id that was given out: it has to be used in time. */
export function startSession(context: ClassicContext, group: ClassicGroup, memberId: string, timeoutMs: number): void {
  const expire = (next: Decision) => context.timeouts.session(context, next, group, memberId)
  context.timers.set(sessionKey(group.groupId, memberId), timeoutMs, expire, 'client')
}

/** Takes a member out of the group and answers what it has parked, so that it may try again if it still lives. */
export function dropMember(context: ClassicContext, group: ClassicGroup, member: ClassicMember): void {
  context.timers.cancel(sessionKey(group.groupId, member.memberId))
  member.answerJoin(joinError('UNKNOWN_MEMBER_ID', ''))
  member.answerSync(syncError('UNKNOWN_MEMBER_ID'))
  group.remove(member.memberId)
}
