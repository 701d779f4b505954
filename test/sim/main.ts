/** `npm run sim`: runs seeds and says which fail; or one seed, with a trace. */

import { simulateCluster } from './cluster/cluster-simulation.ts'
import { simulate } from './simulation.ts'

/** Of so many seeds one has three brokers, when nobody says how many there are to be. */
const SEEDS_PER_CLUSTER = 4

interface Arguments {
  readonly seeds: number
  readonly first: number
  readonly trace: boolean
  /** Undefined: as the seed has it. */
  readonly brokers: number | undefined
}

function parse(words: readonly string[]): Arguments {
  const numberOf = (name: string) => {
    const index = words.indexOf(name)
    return index < 0 ? undefined : Number(words[index + 1])
  }
  const seed = numberOf('--seed')
  return {
    seeds: numberOf('--seeds') ?? 1,
    first: seed ?? 1,
    trace: words.includes('--trace'),
    brokers: numberOf('--brokers'),
  }
}

function run(seed: number, { brokers, trace }: Arguments) {
  const options = { seed, trace: trace ? (line: string) => console.log(line) : undefined }
  const isCluster = brokers === undefined ? seed % SEEDS_PER_CLUSTER === 0 : brokers > 1
  return isCluster ? simulateCluster(options) : simulate(options)
}

/** Runs them; returns the exit code. */
export function main(words: readonly string[]): number {
  const parsed = parse(words)
  const { seeds, first } = parsed
  const began = Date.now()
  let failed = 0
  let events = 0
  for (let seed = first; seed < first + seeds; seed++) {
    const outcome = run(seed, parsed)
    events += outcome.events
    if (outcome.error === undefined) continue
    failed++
    const { error, plan } = outcome
    console.log(
      `seed ${seed} (${plan.brokerIds.length} brokers, ${plan.storage}, flush ${plan.flush}): ${error.name === 'Violation' ? error.message : error.stack}`,
    )
    console.log(`  again: npm run sim -- --brokers ${plan.brokerIds.length} --seed ${seed} --trace`)
  }
  const seconds = (Date.now() - began) / 1000
  console.log(`${seeds} seeds, ${failed} failed, ${events} events, ${seconds.toFixed(1)} s`)
  return failed === 0 ? 0 : 1
}
