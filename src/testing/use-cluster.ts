/**
 * A cluster for the tests of a file, by the hooks of whatever runs them: started before the first, whole again before each, closed after the
 * last. What one test breaks is mended for the next; topics stay, so tests take names of their own.
 */
import type { ClusterOptions } from '../node/cluster-options.ts'
import { startTestCluster, type TestCluster } from './test-cluster.ts'
import { lastRequests } from './told.ts'
import { type Hooks, hasFailed } from './use-broker.ts'

/** Where the cluster is, once the tests run. */
export interface ClusterInUse {
  /** Throws outside of tests and hooks: there is no cluster yet, or no longer. */
  readonly cluster: TestCluster
}

/**
 * Gives the tests of a file a cluster. Before each test links are healed, brokers that were killed, stopped or paused run again, and everything has
 * come to rest. When a test fails, the timeline and the last requests are printed (not under jest, which does not tell hooks what failed).
 *
 * @example
 * const kafka = useCluster({ beforeAll, afterAll, beforeEach, afterEach }, { brokers: 3 })
 *
 * it('survives the loss of a leader', async () => {
 *   const orders = kafka.cluster.topic('orders')
 *   await orders.produce({ value: 'a book' })
 *   await kafka.cluster.broker((await orders.leader()) as number).kill()
 *   await kafka.cluster.settled()
 *   await expect(orders).toHaveRecords(['a book'])
 * })
 */
export function useCluster(hooks: Hooks, options: ClusterOptions = {}): ClusterInUse {
  const { before, after } =
    'beforeAll' in hooks
      ? { before: hooks.beforeAll, after: hooks.afterAll }
      : { before: hooks.before, after: hooks.after }
  let cluster: TestCluster | undefined
  before(async () => {
    cluster = await startTestCluster(options)
  })
  hooks.beforeEach(async () => {
    if (cluster !== undefined) await mend(cluster)
  })
  // Without a parameter: to jest one means a callback that is to be called, to vitest a fixture.
  hooks.afterEach(async function () {
    // biome-ignore lint/complexity/noArguments: rest parameters are parameters, too
    const [context] = arguments
    if (cluster === undefined || !hasFailed(context)) return
    console.error(`What happened to the cluster:\n${await cluster.timeline()}\n\n${await lastRequests(cluster)}`)
  })
  after(async () => {
    await cluster?.close()
    cluster = undefined
  })
  return {
    get cluster() {
      if (cluster === undefined) throw new TypeError('the cluster is there in tests and hooks only')
      return cluster
    },
  }
}

async function mend(cluster: TestCluster): Promise<void> {
  await cluster.heal()
  for (const broker of cluster.brokers) {
    if (broker.state === 'paused') await broker.resume()
    else if (broker.state !== 'running') await broker.restart()
  }
  await cluster.settled()
}
