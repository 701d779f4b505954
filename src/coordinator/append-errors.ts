import { type ErrorName, KafkaError } from '../protocol/errors.ts'

/**
 * What a client of a coordinator is told when the coordinator's own log refused an append: errors that speak of a
 * partition would mislead it. Follows `CoordinatorOperationExceptionHelper` and
 * `GroupMetadataManager.appendGroupMetadataErrorToResponseError`.
 */
const TOLD_AS: Partial<Record<ErrorName, ErrorName>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'COORDINATOR_NOT_AVAILABLE',
  NOT_ENOUGH_REPLICAS: 'COORDINATOR_NOT_AVAILABLE',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'COORDINATOR_NOT_AVAILABLE',
  REQUEST_TIMED_OUT: 'COORDINATOR_NOT_AVAILABLE',
  NOT_LEADER_OR_FOLLOWER: 'NOT_COORDINATOR',
  KAFKA_STORAGE_ERROR: 'NOT_COORDINATOR',
  MESSAGE_TOO_LARGE: 'UNKNOWN_SERVER_ERROR',
  RECORD_LIST_TOO_LARGE: 'UNKNOWN_SERVER_ERROR',
  INVALID_FETCH_SIZE: 'UNKNOWN_SERVER_ERROR',
}

/** The error for the client; what is no {@link KafkaError} is Ottla's own mistake and is thrown on. */
export function errorOfAppend(thrown: unknown): ErrorName {
  if (!(thrown instanceof KafkaError)) throw thrown
  return TOLD_AS[thrown.error] ?? thrown.error
}
