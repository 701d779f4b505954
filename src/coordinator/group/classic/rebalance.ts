import type { ErrorName } from '../../../protocol/errors.ts'
import type { Decision } from '../../decision.ts'
import { type ClassicContext, joinKey, syncKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import { completeJoin } from './complete-join.ts'
import { syncError } from './responses.ts'
import { scheduleSession } from './sessions.ts'

/**
 * How a rebalance begins, and how long it waits for members to join. How it ends is in `complete-join.ts`.
 * Follows `prepareRebalance`, `maybeCompleteJoinPhase` and `tryCompleteInitialRebalanceElseSchedule` of
 * `GroupMetadataManager`.
 */

/** Something changed that needs a rebalance: begins one, or, when one is running, ends it if that was all it waited for. */
export function rebalanceOrCompleteJoin(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  reason: string,
): void {
  if (group.canRebalance) prepareRebalance(context, decision, group, reason)
  else maybeCompleteJoin(context, decision, group)
}

/** Ends the running rebalance if everybody has joined; the first one of a group always waits for its delay. */
export function maybeCompleteJoin(context: ClassicContext, decision: Decision, group: ClassicGroup): void {
  if (!group.isIn('PreparingRebalance') || group.previousState === 'Empty') return
  if (group.hasAllMembersJoined) completeJoin(context, decision, group)
}

export function prepareRebalance(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  reason: string,
): void {
  // Whoever waits for an assignment waits in vain: they have to join again.
  if (group.isIn('CompletingRebalance')) failSyncs(context, group, 'REBALANCE_IN_PROGRESS')
  group.pendingSync.clear()
  context.timers.cancel(syncKey(group.groupId))

  const initial = group.isIn('Empty')
  group.transitionTo('PreparingRebalance', decision.now)
  context.env.log('info', 'group prepares to rebalance', {
    groupId: group.groupId,
    generationId: group.generationId,
    members: group.members.size,
    reason,
  })
  if (initial) {
    const delayMs = context.config().initialRebalanceDelayMs
    scheduleInitialJoin(context, group, delayMs, Math.max(group.rebalanceTimeoutMs - delayMs, 0))
  } else if (group.hasAllMembersJoined) {
    completeJoin(context, decision, group)
  } else {
    const complete = (next: Decision) => completeJoin(context, next, group)
    context.timers.set(joinKey(group.groupId), group.rebalanceTimeoutMs, complete, 'client')
  }
}

/**
 * The first rebalance of a group waits `delayMs`, and again for as long as new members keep coming, `remainingMs`
 * more at most: otherwise a group that starts up would rebalance once per member.
 */
function scheduleInitialJoin(context: ClassicContext, group: ClassicGroup, delayMs: number, remainingMs: number): void {
  const completeOrWait = (next: Decision) => {
    if (!group.newMemberAdded || remainingMs === 0) return completeJoin(context, next, group)
    group.newMemberAdded = false
    const nextDelayMs = Math.min(context.config().initialRebalanceDelayMs, remainingMs)
    scheduleInitialJoin(context, group, nextDelayMs, Math.max(remainingMs - delayMs, 0))
  }
  context.timers.set(joinKey(group.groupId), delayMs, completeOrWait, 'client')
}

/** Answers every parked sync with `error`; nobody is assigned anything. */
export function failSyncs(context: ClassicContext, group: ClassicGroup, error: ErrorName): void {
  for (const member of group.members.values()) {
    member.assignment = new Uint8Array(0)
    if (member.answerSync(syncError(error))) scheduleSession(context, group, member)
  }
}
