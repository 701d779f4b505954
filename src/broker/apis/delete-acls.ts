import { deleteAcls } from '../../protocol/apis/delete-acls.ts'
import { CLOSE_CONNECTION, handler } from '../handler.ts'
import { hasUnknown, NO_AUTHORIZER, NO_AUTHORIZER_DIFFERS } from './no-authorizer.ts'

/** Deletes the ACLs that filters find. */
export const deleteAclsHandler = handler(
  deleteAcls,
  ({ filters }) => {
    const unknown = filters.some(({ resourceTypeFilter, patternTypeFilter, operation, permissionType }) =>
      hasUnknown(resourceTypeFilter, patternTypeFilter, operation, permissionType),
    )
    return unknown ? CLOSE_CONNECTION : { filterResults: filters.map(() => NO_AUTHORIZER) }
  },
  { differs: NO_AUTHORIZER_DIFFERS },
)
