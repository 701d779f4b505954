/**
 * The errors of an append that say more than a code, and the mapping of what the layers below throw. Kafka answers a
 * produce that was refused for single records with their indexes and a message (KIP-467, `RecordValidationException`).
 */

import { type ErrorName, KafkaError } from '../protocol/errors.ts'
import { RecordsError } from '../records/records-error.ts'
import { StorageError } from '../storage/storage.ts'

/** One refused record: its place in the batch, and why. */
export interface RecordError {
  batchIndex: number
  message: string
}

/** Single records were refused, and the whole batch with them. Produce 8 and later shows `recordErrors` and `message`. */
export class RecordsInvalidError extends KafkaError {
  readonly recordErrors: readonly RecordError[]

  constructor(error: ErrorName, message: string, recordErrors: readonly RecordError[]) {
    super(error, message)
    this.recordErrors = recordErrors
  }
}

/**
 * What a produce request has for a partition is not one whole batch v2. Kafka finds this out before it looks at the
 * partition (`ProduceRequest.validateRecords`) and so answers without a log start offset.
 */
export class ProduceRecordsError extends KafkaError {}

/** What the layers below threw, as a protocol error; anything else comes back as it is. */
export function toKafkaError(error: unknown): unknown {
  if (error instanceof RecordsError) return new KafkaError(error.error, error.message)
  if (error instanceof StorageError) {
    // Trying again would not help a full memory: this one is final for clients, and its message reaches them. A disk may
    // have room again soon, and Kafka's clients go on trying for as long as they are told to.
    return new KafkaError(error.code === 'OVER_LIMIT' ? 'POLICY_VIOLATION' : 'KAFKA_STORAGE_ERROR', error.message)
  }
  return error
}
