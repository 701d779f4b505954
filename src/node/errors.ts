/**
 * What Ottla throws when the caller is wrong: one class, one table of stable codes. Not here: what the protocol says to
 * a client (`KafkaError`, see protocol/errors.ts) and mistakes of Ottla itself, which are assertions.
 */

/** Every code that an {@link OttlaError} may carry, with what it means. Codes never change their meaning. */
export const OTTLA_ERRORS = {
  OTTLA_INVALID_OPTION: 'An option is unknown, or its value is not one that it may have.',
  OTTLA_UNKNOWN_CONFIG: 'A broker or topic config has a name that Kafka does not know.',
  OTTLA_INVALID_CONFIG: 'A broker or topic config has a value that it may not have.',
  OTTLA_PORT_IN_USE: 'Another process, or another broker of this one, listens on that port.',
  OTTLA_LISTEN_FAILED: 'The operating system refused to listen on that host and port.',
  OTTLA_BROKER_CLOSED: 'A method was called on a broker that is closed.',
  OTTLA_NOT_REACHED: 'A broker in another process does not answer, or not to this token.',
  OTTLA_TIMEOUT: 'Something that was waited for did not come; the message says what there was instead.',
  OTTLA_DATA_DIR_LOCKED: 'Another broker, of this process or another one, uses the data directory.',
  OTTLA_DATA_DIR_TOO_NEW: 'The data directory was written by a later release, whose format this one does not know.',
  OTTLA_DATA_DIR_INVALID:
    'The directory is not a data directory of Ottla, or of another node, or what it says of itself is broken.',
  OTTLA_DATA_DIR_FAILED: 'The data directory cannot be made, read, or written.',
  OTTLA_DATA_DIR_DAMAGED:
    'What the cluster decided, and was on the disk, cannot be read any more; `ottla verify` says where.',
  OTTLA_WRONG_MODE: 'A method needs a broker that was started in another way.',
  OTTLA_WORKER_STOPPED: 'The worker thread of a broker ended without being asked to.',
} as const

/** A key of {@link OTTLA_ERRORS}. */
export type OttlaErrorCode = keyof typeof OTTLA_ERRORS

/**
 * The caller asked for something that cannot be. `message` is one line that says what is wrong, `hint`, where there is
 * one, says what to do about it, and `code` is what programs compare with.
 *
 * @example
 * try {
 *   await startBroker({ port: 9092 })
 * } catch (error) {
 *   if (error instanceof OttlaError && error.code === 'OTTLA_PORT_IN_USE') console.error(error.hint)
 *   else throw error
 * }
 */
export class OttlaError extends Error {
  override readonly name = 'OttlaError'
  readonly code: OttlaErrorCode
  readonly hint: string | undefined

  constructor(code: OttlaErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
  }
}

/** Whatever was thrown, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Whoever was asked, or told, had a worker thread that has ended. */
export function isOfEndedThread(error: unknown): error is OttlaError {
  return error instanceof OttlaError && error.code === 'OTTLA_WORKER_STOPPED'
}
