import { describe, expect, it } from 'vitest'
import { reasonPending } from './pending.ts'
import { play } from './play.ts'
import { type Profile, profileConfigs, scripts } from './profiles.ts'
import { prepare } from './setup.ts'
import { VirtualClusterWorld } from './virtual-cluster-world.ts'
import { VirtualWorld } from './virtual-world.ts'

/**
 * Every scenario that was recorded from Apache Kafka 4.4, played against Ottla without sockets: a broker of its own each, or three,
 * in virtual time. One that is pending must fail, so that the list in pending.ts can only be right.
 */

for (const profile of ['main', 'strict', 'cleaning', 'three'] satisfies Profile[]) {
  const configs = profileConfigs(profile)
  for (const { file, scenarios } of scripts(profile)) {
    describe(file, () => {
      for (const scenario of scenarios) {
        const reason = reasonPending(file, scenario.name)
        it(reason === undefined ? scenario.name : `${scenario.name} (pending: ${reason})`, async () => {
          const several = profile === 'three'
          const world = several ? new VirtualClusterWorld(configs) : new VirtualWorld(configs)
          const target = await prepare(world, 'localhost', 9092, several)
          const found = await play(scenario, target, world)
          if (reason === undefined && found !== undefined) throw new Error(found)
          if (reason !== undefined) expect(found, 'it passes: take it off the list in pending.ts').toBeDefined()
        })
      }
    })
  }
}
