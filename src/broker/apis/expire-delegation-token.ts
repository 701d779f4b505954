import { expireDelegationToken } from '../../protocol/apis/expire-delegation-token.ts'
import { handler } from '../handler.ts'
import { NOT_ALLOWED, NOT_ALLOWED_DIFFERS } from './no-delegation-tokens.ts'

/** Ends a delegation token. */
export const expireDelegationTokenHandler = handler(
  expireDelegationToken,
  () => ({ errorCode: NOT_ALLOWED, expiryTimestampMs: -1 }),
  { differs: NOT_ALLOWED_DIFFERS },
)
