import type { ErrorName } from '../../../protocol/errors.ts'
import type { Later } from '../../../util/later.ts'
import type { Decision } from '../../decision.ts'
import type { SyncGroupRequest, SyncGroupResponse } from '../group-requests.ts'
import { type ClassicContext, syncKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import { failSyncs, rebalanceOrCompleteJoin } from './rebalance.ts'
import { groupMetadataRecord } from './records.ts'
import { syncError, synced } from './responses.ts'
import { scheduleSession } from './sessions.ts'

/**
 * SyncGroup: the leader brings what everybody is assigned, the others wait for it. The group is stable once that is
 * stored. Follows `classicGroupSyncToClassicGroup` of `GroupMetadataManager`.
 */
export function syncGroup(
  context: ClassicContext,
  decision: Decision,
  request: SyncGroupRequest,
): SyncGroupResponse | Later<SyncGroupResponse> {
  const group = context.groups.get(request.groupId)
  if (group === undefined) return syncError('UNKNOWN_MEMBER_ID')
  const error = refusalOf(group, request)
  if (error !== undefined) return syncError(error)
  const member = group.member(request.memberId)
  switch (group.state) {
    case 'Empty':
      return syncError('UNKNOWN_MEMBER_ID')
    case 'PreparingRebalance':
      return syncError('REBALANCE_IN_PROGRESS')
    case 'CompletingRebalance': {
      const reply = member.parkSync(context.env.turns)
      hasSynced(context, group, request.memberId)
      if (group.isLeader(request.memberId)) storeAssignment(context, decision, group, request)
      return reply
    }
    case 'Stable':
      hasSynced(context, group, request.memberId)
      return synced(group, member)
  }
}

function refusalOf(group: ClassicGroup, request: SyncGroupRequest): ErrorName | undefined {
  const refusal = group.refusalOf(request.memberId, request.groupInstanceId)
  if (refusal !== undefined) return refusal
  if (request.generationId !== group.generationId) return 'ILLEGAL_GENERATION'
  const { protocolType, protocolName } = request
  if (protocolType !== null && protocolType !== group.protocolType) return 'INCONSISTENT_GROUP_PROTOCOL'
  if (protocolName !== null && protocolName !== group.protocolName) return 'INCONSISTENT_GROUP_PROTOCOL'
  return undefined
}

/** The member took its generation; when all have, nobody has to be thrown out for silence. */
function hasSynced(context: ClassicContext, group: ClassicGroup, memberId: string): void {
  group.pendingSync.delete(memberId)
  if (group.pendingSync.size === 0) context.timers.cancel(syncKey(group.groupId))
}

function storeAssignment(
  context: ClassicContext,
  decision: Decision,
  group: ClassicGroup,
  request: SyncGroupRequest,
): void {
  // Whoever the leader forgot gets nothing, and whoever it invented is nobody.
  const assignments = new Map(request.assignments.map(({ memberId, assignment }) => [memberId, assignment]))
  const { generationId } = group
  // Somebody may join before the assignment is stored; then it is for nothing.
  const isCurrent = () => group.isIn('CompletingRebalance') && group.generationId === generationId
  decision.append(groupMetadataRecord(group, assignments))
  decision.whenCommitted(next => {
    if (!isCurrent()) return
    for (const member of group.members.values()) {
      member.assignment = assignments.get(member.memberId) ?? new Uint8Array(0)
      if (member.answerSync(synced(group, member))) scheduleSession(context, group, member)
    }
    group.transitionTo('Stable', next.now)
  })
  decision.whenFailed((error, next) => {
    if (!isCurrent()) return
    failSyncs(context, group, error)
    rebalanceOrCompleteJoin(context, next, group, `${error} when storing the assignment`)
  })
}
