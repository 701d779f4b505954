import { electLeaders } from '../../protocol/apis/elect-leaders.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Elects leaders, the preferred ones or, where there is none, any (KIP-183, KIP-460). The controller decides. */
export const electLeadersHandler = handler(electLeaders, (request, context) =>
  forward('electLeaders', request, context),
)
