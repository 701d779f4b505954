import type { GroupContext } from '../coordinator/group/group-requests.ts'
import type { RequestContext } from './handler.ts'

/** Who asks, as the group coordinator wants to know it: the host in the way Java prints an address. */
export function groupContext({ apiVersion, clientId, peer }: RequestContext): GroupContext {
  return { apiVersion, clientId, clientHost: `/${peer.host}` }
}
