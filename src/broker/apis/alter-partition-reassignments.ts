import { alterPartitionReassignments } from '../../protocol/apis/alter-partition-reassignments.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Moves replicas (KIP-455). The controller decides (`cluster/`). */
export const alterPartitionReassignmentsHandler = handler(alterPartitionReassignments, (request, context) =>
  forward('alterPartitionReassignments', request, context),
)
