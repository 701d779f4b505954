import { alterUserScramCredentials } from '../../protocol/apis/alter-user-scram-credentials.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Sets and deletes SCRAM credentials (KIP-554). The controller decides (`cluster/`). */
export const alterUserScramCredentialsHandler = handler(
  alterUserScramCredentials,
  (request, context) => forward('alterUserScramCredentials', request, context),
  { differs: ['Credentials are kept and described; there are no listeners with SASL yet that would ask for them.'] },
)
