import { listPartitionReassignments } from '../../protocol/apis/list-partition-reassignments.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** The moves of replicas that are under way (KIP-455). The controller knows them first. */
export const listPartitionReassignmentsHandler = handler(listPartitionReassignments, (request, context) =>
  forward('listPartitionReassignments', request, context),
)
