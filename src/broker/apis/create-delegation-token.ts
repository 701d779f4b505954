import { createDelegationToken } from '../../protocol/apis/create-delegation-token.ts'
import { handler } from '../handler.ts'
import { ANONYMOUS } from '../principal.ts'
import { NOT_ALLOWED, NOT_ALLOWED_DIFFERS } from './no-delegation-tokens.ts'

/** Makes a delegation token, for who asks or for another owner. */
export const createDelegationTokenHandler = handler(
  createDelegationToken,
  ({ ownerPrincipalType, ownerPrincipalName }, { apiVersion }) => {
    const owner = ownerPrincipalName ? { type: ownerPrincipalType ?? '', name: ownerPrincipalName } : ANONYMOUS
    const requester = { tokenRequesterPrincipalType: ANONYMOUS.type, tokenRequesterPrincipalName: ANONYMOUS.name }
    return {
      errorCode: NOT_ALLOWED,
      principalType: owner.type,
      principalName: owner.name,
      ...(apiVersion >= 3 && requester),
      issueTimestampMs: -1,
      expiryTimestampMs: -1,
      maxTimestampMs: -1,
    }
  },
  { differs: NOT_ALLOWED_DIFFERS },
)
