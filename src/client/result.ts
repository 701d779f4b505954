/**
 * How the client says that something went wrong: as a value. Every `Later` of the client settles with a {@link Result};
 * nothing is thrown after a call has returned. It is not the error of the broker's side (`KafkaError` of `protocol/`),
 * though it carries the same names.
 */

import { type ErrorName, errorName, isRetriable } from '../protocol/errors.ts'

/** What only the client can find out. */
export type ClientErrorCode =
  /** The client, or the part of it that was asked, has been closed. */
  | 'OTTLA_CLIENT_CLOSED'
  /** The call makes no sense as it stands; the message says what to do. */
  | 'OTTLA_INVALID_ARGUMENT'
  /** What the broker sent cannot be read; the connection was closed. */
  | 'OTTLA_BAD_RESPONSE'
  /** A record was not acknowledged within `deliveryTimeoutMs`. It may still have been stored. */
  | 'OTTLA_DELIVERY_TIMEOUT'
  /** There is no committed offset and `autoOffsetReset` is `none`. */
  | 'OTTLA_NO_OFFSET'
  /** The log was cut below the position, after an unclean election, and `autoOffsetReset` is `none`. */
  | 'OTTLA_LOG_TRUNCATION'
  /** The partition is not assigned to this consumer. */
  | 'OTTLA_NOT_ASSIGNED'

/** An error of the client: `code` is one of Kafka's names or begins with `OTTLA_`. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: ErrorName | ClientErrorCode

  constructor(code: ErrorName | ClientErrorCode, message: string = code) {
    super(message)
    this.code = code
  }

  /** True when the same request may succeed later. */
  get retriable(): boolean {
    return !this.code.startsWith('OTTLA_') && isRetriable(this.code as ErrorName)
  }
}

/**
 * Either a value or an error.
 *
 * @example
 * producer.send({ topic: 'orders', value }).whenSettled(result => {
 *   if (result.ok) log(result.value.offset)
 *   else log(result.error.code)
 * })
 */
export type Result<T> = { readonly ok: true; readonly value: T } | Failure

/** The half of a {@link Result} that says no. */
export interface Failure {
  readonly ok: false
  readonly error: ClientError
}

export function ok<T>(value: T): Result<T> {
  return { ok: true, value }
}

/** A success with nothing to tell. */
export const DONE: Result<void> = { ok: true, value: undefined }

export function fail(code: ErrorName | ClientErrorCode, message?: string): Failure {
  return { ok: false, error: new ClientError(code, message) }
}

/** The failure that an error code on the wire stands for; undefined for none. */
export function failureOf(errorCode: number, message?: string | null): Failure | undefined {
  if (errorCode === 0) return undefined
  const name = errorName(errorCode)
  return fail(name, message ? `${name}: ${message}` : name)
}
