import { ERROR_CODES, type ErrorName } from '../../../protocol/errors.ts'
import type { Decision } from '../../decision.ts'
import { type ClassicContext, sessionKey } from './classic-context.ts'
import type { ClassicGroup } from './classic-group.ts'
import { maybeCompleteJoin, rebalanceOrCompleteJoin } from './rebalance.ts'
import { dropMember } from './sessions.ts'

/**
 * LeaveGroup: members that say goodbye, ids that were never used, and static members that an administrator removes by
 * their instance id. Each has a result of its own. Follows `classicGroupLeaveToClassicGroup` of
 * `GroupMetadataManager`.
 */

/** Who leaves; with an empty member id whoever holds the instance id. */
export interface Leaving {
  readonly memberId: string
  readonly groupInstanceId: string | null
}

export interface Left extends Leaving {
  readonly errorCode: number
}

export function leaveGroup(
  context: ClassicContext,
  decision: Decision,
  groupId: string,
  leaving: readonly Leaving[],
): Left[] {
  const group = context.groups.get(groupId)
  const results = leaving.map(({ memberId, groupInstanceId }) => {
    const error = group === undefined ? 'UNKNOWN_MEMBER_ID' : remove(context, group, memberId, groupInstanceId)
    return { memberId, groupInstanceId, errorCode: ERROR_CODES[error] }
  })
  const left = results.filter(({ errorCode }) => errorCode === ERROR_CODES.NONE)
  if (group === undefined || left.length === 0) return results
  if (group.isIn('Stable', 'CompletingRebalance')) {
    const names = left.map(({ memberId, groupInstanceId }) => memberId || groupInstanceId)
    rebalanceOrCompleteJoin(context, decision, group, `${names.join(', ')} left`)
  } else {
    maybeCompleteJoin(context, decision, group)
  }
  return results
}

function remove(
  context: ClassicContext,
  group: ClassicGroup,
  memberId: string,
  groupInstanceId: string | null,
): ErrorName {
  if (group.pendingJoin.has(memberId)) {
    group.remove(memberId)
    context.timers.cancel(sessionKey(group.groupId, memberId))
    return 'NONE'
  }
  if (memberId === '') {
    const holder = groupInstanceId === null ? undefined : group.staticMembers.get(groupInstanceId)
    if (holder === undefined) return 'UNKNOWN_MEMBER_ID'
    dropMember(context, group, group.member(holder))
    return 'NONE'
  }
  const refusal = group.refusalOf(memberId, groupInstanceId)
  if (refusal !== undefined) return refusal
  dropMember(context, group, group.member(memberId))
  return 'NONE'
}
