import { alterClientQuotas } from '../../protocol/apis/alter-client-quotas.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Sets and removes quotas (KIP-546). The controller decides (`cluster/`). */
export const alterClientQuotasHandler = handler(
  alterClientQuotas,
  (request, context) => forward('alterClientQuotas', request, context),
  {
    differs: [
      'producer_byte_rate and consumer_byte_rate are enforced; the other quotas are kept and described.',
      'What a client used before it had a quota is not counted; Kafka counts it once anybody has one.',
      'The entity ip is an address or localhost: names of hosts are not looked up.',
    ],
  },
)
