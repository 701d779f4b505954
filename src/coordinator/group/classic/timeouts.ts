import type { Decision } from '../../decision.ts'
import { type ClassicContext, type ClassicTimeouts, sessionKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import { completeJoin } from './complete-join.ts'
import { prepareRebalance, rebalanceOrCompleteJoin } from './rebalance.ts'
import { dropMember } from './sessions.ts'

/**
 * What happens to members that are not heard of in time. Follows `expireClassicGroupMemberHeartbeat` and
 * `expirePendingSync` of `GroupMetadataManager`.
 */
export const classicTimeouts: ClassicTimeouts = { session: expireSession, sync: expirePendingSync }

function expireSession(context: ClassicContext, decision: Decision, group: ClassicGroup, memberId: string): void {
  if (group.pendingJoin.has(memberId)) {
    group.remove(memberId)
    if (group.isIn('PreparingRebalance') && group.hasAllMembersJoined) completeJoin(context, decision, group)
    return
  }
  const member = group.members.get(memberId)
  // A parked member cannot send heartbeats; its timer is set again when it is answered.
  if (member === undefined || member.hasSatisfiedHeartbeat) return
  context.env.log('info', 'member timed out', { groupId: group.groupId, memberId })
  dropMember(context, group, member)
  if (group.isIn('Stable', 'CompletingRebalance')) {
    rebalanceOrCompleteJoin(context, decision, group, `session of ${memberId} ended`)
  } else if (group.isIn('PreparingRebalance') && group.hasAllMembersJoined) {
    completeJoin(context, decision, group)
  }
}

/** Members that took their generation but never asked for their assignment hold up the group: out with them. */
function expirePendingSync(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  generationId: number,
): void {
  if (group.generationId !== generationId || !group.isIn('CompletingRebalance', 'Stable')) return
  if (group.pendingSync.size === 0) return
  const silent = [...group.pendingSync]
  for (const memberId of silent) {
    group.remove(memberId)
    context.timers.cancel(sessionKey(group.groupId, memberId))
  }
  prepareRebalance(context, decision, group, `no sync from ${silent.join(', ')}`)
}
