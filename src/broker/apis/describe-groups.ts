import { describeGroups } from '../../protocol/apis/describe-groups.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'
import { GROUP_OPERATIONS } from './authorized-operations.ts'

/** State and members of classic groups. The coordinator answers; what one may do with a group is said here. */
export const describeGroupsHandler = handler(describeGroups, (request, context) =>
  context.broker.groups.describeGroups(request, groupContext(context)).map(response => {
    if (!request.includeAuthorizedOperations) return response
    const groups = (response.groups ?? []).map(group =>
      group.errorCode === 0 ? { ...group, authorizedOperations: GROUP_OPERATIONS } : group,
    )
    return { ...response, groups }
  }),
)
