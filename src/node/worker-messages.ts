/**
 * What goes over the port between a broker in a worker thread and its handle. Both sides are of the same build, so nothing
 * here has a version.
 */
import type { LogFields, LogLevel } from '../util/env.ts'
import type { BrokerMethod } from './broker-methods.ts'
import { OTTLA_ERRORS, OttlaError, type OttlaErrorCode, toError } from './errors.ts'
import type { CheckedOptions } from './options.ts'
import type { BrokerFacts } from './running-broker.ts'

/** What the worker is started with. */
export interface WorkerInput {
  options: CheckedOptions
  /** The least level that is worth posting; undefined when nobody listens. */
  logLevel: LogLevel | undefined
}

/** From the handle to the worker. */
export interface Call {
  id: number
  method: BrokerMethod | 'close'
  args: unknown[]
}

/** From the worker to the handle. */
export type WorkerMessage =
  | { type: 'started'; facts: BrokerFacts }
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
}

export function packError(thrown: unknown): ErrorMessage {
  const error = toError(thrown) as Error & { code?: string; hint?: string }
  const { name, message, stack, code, hint } = error
  return { name, message, stack, code, hint }
}

/** The error as it was thrown, with the stack of the other thread. */
export function unpackError(packed: ErrorMessage): Error {
  const { code, hint, message } = packed
  const error =
    code !== undefined && code in OTTLA_ERRORS
      ? new OttlaError(code as OttlaErrorCode, message, { hint })
      : Object.assign(new Error(message), { name: packed.name }, code === undefined ? {} : { code })
  error.stack = packed.stack
  return error
}
