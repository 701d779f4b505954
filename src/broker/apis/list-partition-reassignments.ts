import { listPartitionReassignments } from '../../protocol/apis/list-partition-reassignments.ts'
import { handler } from '../handler.ts'

/** The moves of replicas that are under way. One to the same brokers is done when it is decided, so there is none. */
export const listPartitionReassignmentsHandler = handler(listPartitionReassignments, () => ({
  errorMessage: null,
  topics: [],
}))
