import { createPartitions } from '../../protocol/apis/create-partitions.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Adds partitions to topics. The controller decides (`cluster/`). */
export const createPartitionsHandler = handler(createPartitions, (request, context) =>
  forward('createPartitions', request, context),
)
