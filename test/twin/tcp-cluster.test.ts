import { beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../src/node/index.ts'
import { reasonPending } from './pending.ts'
import { play } from './play.ts'
import { profileConfigs, scripts } from './profiles.ts'
import type { Fault, Scenario } from './script.ts'
import { prepare } from './setup.ts'
import { slots } from './slots.ts'
import { TcpClusterWorld } from './tcp-cluster-world.ts'
import { TcpWorld } from './tcp-world.ts'

/**
 * The scenarios of three brokers over TCP and in real time, a cluster of its own each, several at once: connections that end, brokers
 * that listen again where they did, others that stay silent. What is pending is not played again. TWIN_WORKERS=1 gives each broker a thread.
 */

const WORKERS = process.env.TWIN_WORKERS === '1'
const JOBS = WORKERS ? 4 : 16
/** The longest that a scenario may take, and it waits for those before it. */
const TIMEOUT_MS = 300_000

async function outcome(scenario: Scenario): Promise<string | undefined> {
  const configs = { 'replica.fetch.wait.max.ms': '500', 'default.replication.factor': '1', ...profileConfigs('three') }
  await using cluster = await startCluster({ racks: ['r1', 'r2', 'r3'], configs, workers: WORKERS, log: false })
  const { host, port } = cluster.broker(1)
  const target = await prepare(new TcpWorld(host, port), host, port, true)
  const befall = (fault: Fault, id: number) => cluster.broker(id)[fault]()
  return await play(scenario, target, new TcpClusterWorld(target, befall))
}

describe('three', () => {
  const played = scripts('three').flatMap(({ file, scenarios }) =>
    scenarios.filter(({ name }) => reasonPending(file, name) === undefined).map(scenario => ({ file, scenario })),
  )
  const outcomes = new Map<Scenario, Promise<string | undefined>>()

  beforeAll(() => {
    const slot = slots(JOBS)
    for (const { scenario } of played) outcomes.set(scenario, slot(() => outcome(scenario)).catch(String))
  })

  for (const { file, scenario } of played) {
    it(
      `${file}: ${scenario.name}`,
      async () => {
        const found = await outcomes.get(scenario)
        expect(found, found).toBeUndefined()
      },
      TIMEOUT_MS,
    )
  }
})
