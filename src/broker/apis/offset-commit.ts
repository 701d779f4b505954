import { offsetCommit } from '../../protocol/apis/offset-commit.ts'
import { groupContext } from '../group-context.ts'
import { handler } from '../handler.ts'

/** Stores how far a group has read. The coordinator answers; see `coordinator/group/`. */
export const offsetCommitHandler = handler(
  offsetCommit,
  (request, context) => context.broker.groups.offsetCommit(request, groupContext(context)),
  {
    differs: [
      'A commit of which nothing can be stored makes no group; in Kafka it makes one that some requests see and others do not.',
    ],
  },
)
