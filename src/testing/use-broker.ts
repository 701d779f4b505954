/**
 * A broker for the tests of a file, by the hooks of whatever runs them: started before the first, put back before each, closed
 * after the last.
 */
import type { BrokerOptions } from '../node/options.ts'
import { sharedBroker } from './global-broker.ts'
import { startTestBroker, type TestBroker } from './test-broker.ts'
import { lastRequests } from './told.ts'
import { type Hooks, type Isolation, resets, useInTests } from './use-in-tests.ts'

export interface UseBrokerOptions extends BrokerOptions, Isolation {}

/** Where the broker is, once the tests run. */
export interface BrokerInUse {
  /** Throws outside of tests and hooks: there is no broker yet, or no longer. */
  readonly broker: TestBroker
}

/**
 * Gives the tests of a file a broker. When a test fails, what the clients last asked of it is printed (not under jest, which does
 * not tell hooks what failed; there the errors of waits bring it along).
 *
 * @example
 * import { afterAll, afterEach, beforeAll, beforeEach, it } from 'vitest'
 * import { useBroker } from 'ottla/testing'
 *
 * const kafka = useBroker({ beforeAll, afterAll, beforeEach, afterEach }, { topics: ['orders:3'] })
 *
 * it('starts empty', async () => {
 *   await kafka.broker.topic('orders').records()
 * })
 */
export function useBroker(hooks: Hooks, options: UseBrokerOptions = {}): BrokerInUse {
  const { isolation, ...brokerOptions } = options
  let shared = false
  const inUse = useInTests<TestBroker>(hooks, {
    what: 'broker',
    async start() {
      const running = await sharedBroker()
      shared = running !== undefined
      return running ?? startTestBroker(brokerOptions)
    },
    async refresh(broker, fresh) {
      // Others may be at work on a shared broker.
      if (!fresh && !shared && resets(options)) await broker.reset()
    },
    told: broker => lastRequests(broker),
  })
  return {
    get broker() {
      return inUse()
    },
  }
}
