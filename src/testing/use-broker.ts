/**
 * A broker for the tests of a file, by the hooks of whatever runs them: started before the first, put back before each, closed
 * after the last. Knows no runner; all have these four hooks.
 */
import type { BrokerOptions } from '../node/options.ts'
import { sharedBroker } from './global-broker.ts'
import { startTestBroker, type TestBroker } from './test-broker.ts'
import { lastRequests } from './told.ts'

type Hook = (run: () => Promise<void>) => unknown

/** The hooks of vitest and jest, or those of node:test. */
export type Hooks = { beforeEach: Hook; afterEach: Hook } & (
  | { beforeAll: Hook; afterAll: Hook }
  | { before: Hook; after: Hook }
)

export interface UseBrokerOptions extends BrokerOptions {
  /**
   * `reset`, the default, puts the broker back before each test. `names` leaves it as it is: each test takes names of its own
   * (`broker.unique('orders')`), which is what tests need that run side by side or share one broker.
   */
  isolation?: 'reset' | 'names'
}

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
  const { before, after } =
    'beforeAll' in hooks
      ? { before: hooks.beforeAll, after: hooks.afterAll }
      : { before: hooks.before, after: hooks.after }
  let broker: TestBroker | undefined
  let shared = false
  let fresh = true
  before(async () => {
    const running = await sharedBroker()
    shared = running !== undefined
    broker = running ?? (await startTestBroker(brokerOptions))
  })
  hooks.beforeEach(async () => {
    // Others may be at work on a shared broker.
    if (!fresh && !shared && isolation !== 'names') await broker?.reset()
    fresh = false
  })
  // Without a parameter: to jest one means a callback that is to be called, to vitest a fixture.
  hooks.afterEach(async function () {
    // biome-ignore lint/complexity/noArguments: rest parameters are parameters, too
    const [context] = arguments
    if (broker !== undefined && hasFailed(context)) console.error(await lastRequests(broker))
  })
  after(async () => {
    await broker?.close()
    broker = undefined
  })
  return {
    get broker() {
      if (broker === undefined) throw new TypeError('the broker is there in tests and hooks only')
      return broker
    },
  }
}

/** As vitest (`task`) and node:test (`passed`) tell their hooks. */
export function hasFailed(context: unknown): boolean {
  const { task, passed } = (context ?? {}) as { task?: { result?: { state?: string } }; passed?: boolean }
  return task?.result?.state === 'fail' || passed === false
}
