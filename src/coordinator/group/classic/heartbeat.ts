import { KafkaError } from '../../../protocol/errors.ts'
import type { HeartbeatRequest } from '../group-requests.ts'
import type { ClassicContext } from './classic-context.ts'
import { scheduleSession } from './sessions.ts'

/**
 * Heartbeat: the session starts anew, and the member hears of a rebalance. Follows
 * `classicGroupHeartbeatToClassicGroup` of `GroupMetadataManager`.
 *
 * @throws KafkaError with what the member is told instead of NONE.
 */
export function heartbeat(context: ClassicContext, request: HeartbeatRequest): void {
  const group = context.groups.get(request.groupId)
  if (group === undefined) throw new KafkaError('UNKNOWN_MEMBER_ID')
  const refusal = group.refusalOf(request.memberId, request.groupInstanceId)
  if (refusal !== undefined) throw new KafkaError(refusal)
  if (request.generationId !== group.generationId) throw new KafkaError('ILLEGAL_GENERATION')
  scheduleSession(context, group, group.member(request.memberId))
  if (group.isIn('PreparingRebalance')) throw new KafkaError('REBALANCE_IN_PROGRESS')
}
