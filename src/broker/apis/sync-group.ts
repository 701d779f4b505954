import { syncGroup } from '../../protocol/apis/sync-group.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Takes the leader's assignment and gives each member its part. The coordinator answers; see `coordinator/group/`. */
export const syncGroupHandler = handler(syncGroup, (request, context) =>
  context.broker.groups.syncGroup(request, groupContext(context)),
)
