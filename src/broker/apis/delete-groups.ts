import { deleteGroups } from '../../protocol/apis/delete-groups.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Deletes groups that have no members, with their offsets. The coordinator answers; see `coordinator/group/`. */
export const deleteGroupsHandler = handler(deleteGroups, (request, context) =>
  context.broker.groups.deleteGroups(request, groupContext(context)),
)
