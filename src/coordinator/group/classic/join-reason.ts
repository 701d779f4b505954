import type { JoinGroupRequest } from '../group-requests.ts'

/** Why a client says it joins (KIP-800), for the log. */
export function reasonOf(request: JoinGroupRequest): string {
  return request.reason === null || request.reason === '' ? 'not provided' : request.reason
}
