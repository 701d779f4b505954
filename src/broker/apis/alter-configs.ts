import { alterConfigs } from '../../protocol/apis/alter-configs.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Replaces all configs of a resource: what is left out goes back to its default. The controller decides (`cluster/`). */
export const alterConfigsHandler = handler(
  alterConfigs,
  (request, context) => forward('alterConfigs', request, context),
  { differs: ['A resource that is named twice is INVALID_REQUEST; Kafka does not answer at all.'] },
)
