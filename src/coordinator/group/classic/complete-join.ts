import type { Decision } from '../../decision.ts'
import { type ClassicContext, joinKey, sessionKey, syncKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import { groupMetadataRecord } from './records.ts'
import { joined } from './responses.ts'
import { scheduleSession } from './sessions.ts'

/**
 * The end of the join phase: those who did not come are dropped, the generation goes up, everybody who waits is
 * answered, and the syncs of the new generation are waited for. Follows `completeClassicGroupJoin` of
 * `GroupMetadataManager`.
 */
export function completeJoin(context: ClassicContext, decision: Decision, group: ClassicGroup): void {
  context.timers.cancel(joinKey(group.groupId))
  dropStragglers(context, group)
  if (!group.electJoinedLeader() && group.members.size > 0) {
    // Only static members are left and none of them joined: wait until their sessions end or somebody comes.
    const again = (next: Decision) => completeJoin(context, next, group)
    context.timers.set(joinKey(group.groupId), group.rebalanceTimeoutMs, again, 'client')
    return
  }
  group.beginGeneration(decision.now)
  context.env.log('info', 'group begins a generation', {
    groupId: group.groupId,
    generationId: group.generationId,
    state: group.state,
    members: group.members.size,
  })
  if (group.isIn('Empty')) storeEmptyGroup(context, decision, group)
  else answerJoins(context, group)
}

/** Dynamic members that did not join are gone; static ones are given their whole session. */
function dropStragglers(context: ClassicContext, group: ClassicGroup): void {
  for (const member of [...group.members.values()]) {
    if (member.awaitingJoin !== undefined || member.isStatic) continue
    group.remove(member.memberId)
    context.timers.cancel(sessionKey(group.groupId, member.memberId))
  }
}

function storeEmptyGroup(context: ClassicContext, decision: Decision, group: ClassicGroup): void {
  decision.append(groupMetadataRecord(group, new Map()))
  decision.whenFailed(error => {
    // The generation before stays in the log, and comes back to life after a failure of this broker; then its members,
    // who are gone, time out. So the group may as well stay empty in memory.
    context.env.log('warn', 'could not store that a group is empty', { groupId: group.groupId, error })
  })
}

function answerJoins(context: ClassicContext, group: ClassicGroup): void {
  for (const member of group.members.values()) {
    member.answerJoin(joined(group, member))
    member.isNew = false
    scheduleSession(context, group, member)
    group.pendingSync.add(member.memberId)
  }
  const generationId = group.generationId
  const expire = (next: Decision) => context.timeouts.sync(context, next, group, generationId)
  context.timers.set(syncKey(group.groupId), group.rebalanceTimeoutMs, expire, 'client')
}
