import { ERROR_CODES } from '../../protocol/errors.ts'

/**
 * What the three APIs for ACLs answer on a broker without an authorizer (`AclApis`). A code that stands for "unknown" is found
 * while Kafka reads the request, so it ends the connection.
 */

export const NO_AUTHORIZER = {
  errorCode: ERROR_CODES.SECURITY_DISABLED,
  errorMessage: 'No Authorizer is configured.',
} as const

export const NO_AUTHORIZER_DIFFERS = ['There is no authorizer yet: always SECURITY_DISABLED, as Kafka without one.']

const UNKNOWN = 0

/** True when one of the codes of an ACL or of a filter is that of "unknown". */
export function hasUnknown(...codes: readonly number[]): boolean {
  return codes.includes(UNKNOWN)
}
