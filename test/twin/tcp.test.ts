import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningBroker, startBroker } from '../../src/node/index.ts'
import { reasonPending } from './pending.ts'
import { play } from './play.ts'
import { type Profile, profileConfigs, scripts } from './profiles.ts'
import type { Scenario } from './script.ts'
import { prepare } from './setup.ts'
import { slots } from './slots.ts'
import { TcpWorld } from './tcp-world.ts'

/**
 * The same scenarios over TCP and in real time, against one broker per profile, many at once: they wait for each other no more
 * than clients do. What is pending is not played again.
 */

const JOBS = 16
/** The longest that a scenario may take, and it waits for those before it. */
const TIMEOUT_MS = 100_000

for (const profile of ['main', 'strict', 'cleaning'] satisfies Profile[]) {
  describe(profile, () => {
    const played = scripts(profile).flatMap(({ file, scenarios }) =>
      scenarios.filter(({ name }) => reasonPending(file, name) === undefined).map(scenario => ({ file, scenario })),
    )
    const outcomes = new Map<Scenario, Promise<string | undefined>>()
    let broker: RunningBroker | undefined

    beforeAll(async () => {
      broker = await startBroker({ configs: profileConfigs(profile), log: false })
      const { host, port } = broker
      const target = await prepare(new TcpWorld(host, port), host, port)
      const slot = slots(JOBS)
      const start = (scenario: Scenario) => play(scenario, target, new TcpWorld(host, port)).catch(String)
      for (const { scenario } of played) {
        if (!scenario.alone)
          outcomes.set(
            scenario,
            slot(() => start(scenario)),
          )
      }
      let before: Promise<unknown> = Promise.all(outcomes.values())
      for (const { scenario } of played) {
        if (!scenario.alone) continue
        const outcome = before.then(() => start(scenario))
        outcomes.set(scenario, outcome)
        before = outcome
      }
    })

    afterAll(() => broker?.close())

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
}
