import { joinGroup } from '../../protocol/apis/join-group.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Joins a member to a classic group; the answer waits until all members have joined. The coordinator answers; see `coordinator/group/`. */
export const joinGroupHandler = handler(joinGroup, (request, context) =>
  context.broker.groups.joinGroup(request, groupContext(context)),
)
