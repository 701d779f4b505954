import { offsetDelete } from '../../protocol/apis/offset-delete.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Forgets how far a group has read in some partitions. The coordinator answers; see `coordinator/group/`. */
export const offsetDeleteHandler = handler(offsetDelete, (request, context) =>
  context.broker.groups.deleteOffsets(request, groupContext(context)),
)
