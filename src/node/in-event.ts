/**
 * Acting on brokers from outside, for instance from a test: an event of its own, and what the broker refuses becomes an error of the caller.
 */
import { KafkaError } from '../protocol/errors.ts'
import { OttlaError, toError } from './errors.ts'
import type { SystemEnv } from './system-env.ts'

/**
 * Gives what comes of it to the caller.
 *
 * @throws OttlaError `OTTLA_INVALID_OPTION` for what is refused with a KafkaError, and whatever else is thrown
 */
export function inEvent<T>(env: SystemEnv, act: () => T): T {
  let result: { value: T } | { error: unknown } | undefined
  env.event(() => {
    try {
      result = { value: act() }
    } catch (error) {
      result = { error }
    }
  })
  if (result !== undefined && 'value' in result) return result.value
  const error = toError(result?.error)
  throw error instanceof KafkaError ? new OttlaError('OTTLA_INVALID_OPTION', error.message, { cause: error }) : error
}
