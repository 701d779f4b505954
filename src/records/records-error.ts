/**
 * What is thrown when record bytes are not what they should be. It carries the name of the protocol error that Kafka
 * answers with when it meets the same bytes (CorruptRecordException, InvalidRecordException, or a plain Java exception,
 * which a client sees as UNKNOWN_SERVER_ERROR).
 */

/** The protocol errors that broken record bytes lead to. */
export type RecordsErrorName = 'CORRUPT_MESSAGE' | 'INVALID_RECORD' | 'UNKNOWN_SERVER_ERROR'

/** Record bytes are broken; `error` is the protocol error that Kafka would answer with. */
export class RecordsError extends Error {
  override readonly name: string = 'RecordsError'
  readonly error: RecordsErrorName

  constructor(error: RecordsErrorName, message: string) {
    super(message)
    this.error = error
  }
}
