import { renewDelegationToken } from '../../protocol/apis/renew-delegation-token.ts'
import { handler } from '../handler.ts'
import { NOT_ALLOWED, NOT_ALLOWED_DIFFERS } from './no-delegation-tokens.ts'

/** Gives a delegation token more time. */
export const renewDelegationTokenHandler = handler(
  renewDelegationToken,
  () => ({ errorCode: NOT_ALLOWED, expiryTimestampMs: -1 }),
  { differs: NOT_ALLOWED_DIFFERS },
)
