import { listGroups } from '../../protocol/apis/list-groups.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Lists the groups whose coordinator is this broker. The coordinator answers; see `coordinator/group/`. */
export const listGroupsHandler = handler(listGroups, (request, context) =>
  context.broker.groups.listGroups(request, groupContext(context)),
)
