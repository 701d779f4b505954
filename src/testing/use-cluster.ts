/**
 * A cluster for the tests of a file, by the hooks of whatever runs them: started before the first, put back before each, closed after the
 * last. What one test breaks the next finds whole.
 */
import type { ClusterOptions } from '../node/cluster-options.ts'
import { startTestCluster, type TestCluster } from './test-cluster.ts'
import { lastRequests } from './told.ts'
import { type Hooks, type Isolation, resets, useInTests } from './use-in-tests.ts'

/** With `isolation: 'names'` links are healed before each test, and brokers that were killed, stopped or paused run again. */
export interface UseClusterOptions extends ClusterOptions, Isolation {}

/** Where the cluster is, once the tests run. */
export interface ClusterInUse {
  /** Throws outside of tests and hooks: there is no cluster yet, or no longer. */
  readonly cluster: TestCluster
}

/**
 * Gives the tests of a file a cluster. Before each test it is reset, or mended with `isolation: 'names'`, and has come to rest. When a test fails,
 * the timeline and the last requests are printed (not under jest, which does not tell hooks what failed).
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
export function useCluster(hooks: Hooks, options: UseClusterOptions = {}): ClusterInUse {
  const { isolation, ...clusterOptions } = options
  const inUse = useInTests<TestCluster>(hooks, {
    what: 'cluster',
    start: () => startTestCluster(clusterOptions),
    async refresh(cluster, fresh) {
      if (!resets(options)) await mend(cluster)
      else if (!fresh) await cluster.reset()
      await cluster.settled()
    },
    told: async cluster => {
      return `What happened to the cluster:\n${await cluster.timeline()}\n\n${await lastRequests(cluster)}`
    },
  })
  return {
    get cluster() {
      return inUse()
    },
  }
}

/** What is wrong with the cluster itself is ended; topics and groups stay. */
async function mend(cluster: TestCluster): Promise<void> {
  await cluster.heal()
  for (const broker of cluster.brokers) {
    if (broker.state === 'paused') await broker.resume()
    else if (broker.state !== 'running') await broker.restart()
  }
}
