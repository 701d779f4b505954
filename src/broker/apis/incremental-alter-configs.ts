import { incrementalAlterConfigs } from '../../protocol/apis/incremental-alter-configs.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Changes single configs of resources (KIP-339). The controller decides (`cluster/`). */
export const incrementalAlterConfigsHandler = handler(incrementalAlterConfigs, (request, context) =>
  forward('incrementalAlterConfigs', request, context),
)
