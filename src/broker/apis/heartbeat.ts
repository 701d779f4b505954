import { heartbeat } from '../../protocol/apis/heartbeat.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Keeps a member of a classic group alive and tells it of a rebalance. The coordinator answers; see `coordinator/group/`. */
export const heartbeatHandler = handler(heartbeat, (request, context) =>
  context.broker.groups.heartbeat(request, groupContext(context)),
)
