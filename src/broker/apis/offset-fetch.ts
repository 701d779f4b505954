import { offsetFetch } from '../../protocol/apis/offset-fetch.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Tells how far groups have read. The coordinator answers; see `coordinator/group/`. */
export const offsetFetchHandler = handler(offsetFetch, (request, context) =>
  context.broker.groups.offsetFetch(request, groupContext(context)),
)
