import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readScript, type Script } from './script.ts'

/** The scenario files beside this one, and the broker configs that each profile of them was recorded with. */

const FOLDER = join(import.meta.dirname, 'scenarios')

/** Profile `three` has three brokers: ids 1 to 3, each in a rack of its own: r1, r2, r3. */
export type Profile = 'main' | 'strict' | 'cleaning' | 'three'

export function scripts(profile: Profile): Script[] {
  return readdirSync(FOLDER)
    .filter(name => name.endsWith('.txt'))
    .sort()
    .map(name => readScript(join(FOLDER, name)))
    .filter(script => script.profile === profile)
}

/** Broker configs: those of the profile, on top of those that every recording had. */
export function profileConfigs(profile: Profile): Record<string, string> {
  const configs: Record<string, string> = {
    'offsets.topic.num.partitions': '5',
    'transaction.state.log.num.partitions': '5',
    'share.coordinator.state.topic.num.partitions': '5',
    'group.initial.rebalance.delay.ms': '0',
    'log.cleaner.backoff.ms': '500',
  }
  for (const line of readFileSync(join(FOLDER, `${profile}.properties`), 'utf8').split('\n')) {
    const [, name, value] = /^([^#=]+)=(.*)$/.exec(line) ?? []
    if (name !== undefined) configs[name] = value
  }
  return configs
}
