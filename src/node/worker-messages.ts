/**
 * What goes over the port between a worker thread and whoever started it. Both sides are of the same build, so nothing
 * here has a version.
 */
import { type ErrorName, KafkaError } from '../protocol/errors.ts'
import type { LogFields, LogLevel } from '../util/env.ts'
import { OTTLA_ERRORS, OttlaError, type OttlaErrorCode, toError } from './errors.ts'
import type { BrokerOptions, CheckedOptions } from './options.ts'
import type { NodeInput } from './port-messages.ts'

/** What a worker is started with: a broker alone, or one of a cluster. */
export type WorkerInput = ({ type: 'broker'; options: CheckedOptions } | NodeInput) & {
  /** The least level that is worth posting; undefined when nobody listens. */
  logLevel: LogLevel | undefined
}

/** See {@link WorkerInput}. */
export function postedLevel({ log, logLevel }: Pick<BrokerOptions, 'log' | 'logLevel'>): LogLevel | undefined {
  return log === false ? undefined : (logLevel ?? (log ? 'info' : 'warn'))
}

/** To the worker. */
export interface Call {
  type: 'call'
  id: number
  /** A method of what runs there; `close` ends it, and the thread. */
  method: string
  args: unknown[]
}

/** From the worker. */
export type WorkerMessage =
  | { type: 'started'; facts: unknown }
  | { type: 'failed'; error: ErrorMessage }
  | { type: 'returned'; id: number; value: unknown }
  | { type: 'threw'; id: number; error: ErrorMessage }
  | { type: 'log'; level: LogLevel; message: string; fields: LogFields }
  | { type: 'fatal'; error: ErrorMessage }

/** An error as it is cloned: structured clone would lose its class, code and hint. */
interface ErrorMessage {
  name: string
  message: string
  stack: string | undefined
  code: string | undefined
  hint: string | undefined
  /** Of a `KafkaError`. */
  error: ErrorName | undefined
}

export function packError(thrown: unknown): ErrorMessage {
  const thrownError = toError(thrown) as Error & { code?: string; hint?: string }
  const { name, message, stack, code, hint } = thrownError
  const error = thrownError instanceof KafkaError ? thrownError.error : undefined
  return { name, message, stack, code, hint, error }
}

/** The error as it was thrown, with the stack of the other thread. */
export function unpackError(packed: ErrorMessage): Error {
  const error = newError(packed)
  error.stack = packed.stack
  return error
}

function newError({ name, message, code, hint, error }: ErrorMessage): Error {
  if (error !== undefined) return new KafkaError(error, message)
  if (code !== undefined && code in OTTLA_ERRORS) return new OttlaError(code as OttlaErrorCode, message, { hint })
  return Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
}
