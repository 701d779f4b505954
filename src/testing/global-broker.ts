/**
 * One broker for a whole run: started by the runner's global setup, found by its workers through the environment, driven over HTTP
 * with a token that is made for the run.
 */
import { randomBytes } from 'node:crypto'
import type { BrokerOptions } from '../node/options.ts'
import { attachTestBroker, startTestBroker, type TestBroker } from './test-broker.ts'

const URL_VARIABLE = 'OTTLA_TEST_BROKER_URL'
const TOKEN_VARIABLE = 'OTTLA_TEST_BROKER_TOKEN'
/** The teardown of jest is a module of its own, in the same process. */
const STARTED = Symbol.for('ottla.testing.global-broker')

/** What a runner calls before and after everything. */
export interface GlobalBroker {
  setup(): Promise<void>
  teardown(): Promise<void>
}

/**
 * Makes the global setup and teardown of a run. Workers that start afterwards find the broker with {@link sharedBroker}, and
 * `useBroker` uses it by itself; tests then take names of their own.
 *
 * @example
 * // vitest, in the file that `globalSetup` names
 * export const { setup, teardown } = globalBroker({ topics: ['orders:3'] })
 */
export function globalBroker(options: Omit<BrokerOptions, 'http'> = {}): GlobalBroker {
  const global = globalThis as { [STARTED]?: TestBroker }
  return {
    async setup() {
      const token = randomBytes(24).toString('base64url')
      const broker = await startTestBroker({ ...options, http: { token } })
      global[STARTED] = broker
      process.env[URL_VARIABLE] = broker.http
      process.env[TOKEN_VARIABLE] = token
    },
    async teardown() {
      delete process.env[URL_VARIABLE]
      delete process.env[TOKEN_VARIABLE]
      await global[STARTED]?.close()
      global[STARTED] = undefined
    },
  }
}

/** The broker of the run, or undefined when its global setup started none. */
export async function sharedBroker(): Promise<TestBroker | undefined> {
  const { [URL_VARIABLE]: url, [TOKEN_VARIABLE]: token } = process.env
  return url === undefined || token === undefined ? undefined : attachTestBroker(url, token)
}
