import { describeDelegationToken } from '../../protocol/apis/describe-delegation-token.ts'
import { handler } from '../handler.ts'
import { NOT_ALLOWED, NOT_ALLOWED_DIFFERS } from './no-delegation-tokens.ts'

/** Finds delegation tokens. */
export const describeDelegationTokenHandler = handler(
  describeDelegationToken,
  () => ({ errorCode: NOT_ALLOWED, tokens: [] }),
  { differs: NOT_ALLOWED_DIFFERS },
)
