import { ERROR_CODES } from '../../protocol/errors.ts'

/**
 * What the APIs for delegation tokens answer to who is not authenticated, or only by a token (`KafkaApis.allowTokenRequests`):
 * who has not said who he is cannot have others act for him.
 */
export const NOT_ALLOWED = ERROR_CODES.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED

export const NOT_ALLOWED_DIFFERS = [
  'There is no authentication yet: always DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as Kafka on a plain listener.',
]
