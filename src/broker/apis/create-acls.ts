import { createAcls } from '../../protocol/apis/create-acls.ts'
import { CLOSE_CONNECTION, handler } from '../handler.ts'
import { hasUnknown, NO_AUTHORIZER, NO_AUTHORIZER_DIFFERS } from './no-authorizer.ts'

/** Makes ACLs. */
export const createAclsHandler = handler(
  createAcls,
  ({ creations }) => {
    const unknown = creations.some(({ resourceType, resourcePatternType, operation, permissionType }) =>
      hasUnknown(resourceType, resourcePatternType, operation, permissionType),
    )
    return unknown ? CLOSE_CONNECTION : { results: creations.map(() => NO_AUTHORIZER) }
  },
  { differs: NO_AUTHORIZER_DIFFERS },
)
