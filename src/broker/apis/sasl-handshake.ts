import { saslHandshake } from '../../protocol/apis/sasl-handshake.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'

/** Out of place once a connection is authenticated, and on a plain listener it is from the start (`KafkaApis`). */
export const saslHandshakeHandler = handler(
  saslHandshake,
  () => ({ errorCode: ERROR_CODES.ILLEGAL_SASL_STATE, mechanisms: [] }),
  { differs: ['There are no listeners with SASL yet: always ILLEGAL_SASL_STATE.'] },
)
