import { describeAcls } from '../../protocol/apis/describe-acls.ts'
import { CLOSE_CONNECTION, handler } from '../handler.ts'
import { hasUnknown, NO_AUTHORIZER, NO_AUTHORIZER_DIFFERS } from './no-authorizer.ts'

/** Finds ACLs. */
export const describeAclsHandler = handler(
  describeAcls,
  ({ resourceTypeFilter, patternTypeFilter, operation, permissionType }) => {
    if (hasUnknown(resourceTypeFilter, patternTypeFilter, operation, permissionType)) return CLOSE_CONNECTION
    return { ...NO_AUTHORIZER, errorMessage: 'No Authorizer is configured on the broker' }
  },
  { differs: NO_AUTHORIZER_DIFFERS },
)
