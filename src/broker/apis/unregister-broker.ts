import { unregisterBroker } from '../../protocol/apis/unregister-broker.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Takes a broker that will not come back out of the metadata: its replicas stay assigned, and offline. The controller decides. */
export const unregisterBrokerHandler = handler(unregisterBroker, (request, context) =>
  forward('unregisterBroker', request, context),
)
