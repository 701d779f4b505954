import { leaveGroup } from '../../protocol/apis/leave-group.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Takes members out of a classic group at once. The coordinator answers; see `coordinator/group/`. */
export const leaveGroupHandler = handler(leaveGroup, (request, context) =>
  context.broker.groups.leaveGroup(request, groupContext(context)),
)
