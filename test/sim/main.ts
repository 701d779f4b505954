/** `npm run sim`: runs seeds and says which fail; or one seed, with a trace. */

import { simulate } from './simulation.ts'

interface Arguments {
  readonly seeds: number
  readonly first: number
  readonly trace: boolean
}

function parse(words: readonly string[]): Arguments {
  const numberOf = (name: string) => {
    const index = words.indexOf(name)
    return index < 0 ? undefined : Number(words[index + 1])
  }
  const seed = numberOf('--seed')
  return { seeds: numberOf('--seeds') ?? 1, first: seed ?? 1, trace: words.includes('--trace') }
}

/** Runs them; returns the exit code. */
export function main(words: readonly string[]): number {
  const { seeds, first, trace } = parse(words)
  const began = Date.now()
  let failed = 0
  let events = 0
  for (let seed = first; seed < first + seeds; seed++) {
    const outcome = simulate({ seed, trace: trace ? line => console.log(line) : undefined })
    events += outcome.events
    if (outcome.error === undefined) continue
    failed++
    const { error, plan } = outcome
    console.log(
      `seed ${seed} (${plan.storage}, flush ${plan.flush}): ${error.name === 'Violation' ? error.message : error.stack}`,
    )
    console.log(`  again: npm run sim -- --seed ${seed} --trace`)
  }
  const seconds = (Date.now() - began) / 1000
  console.log(`${seeds} seeds, ${failed} failed, ${events} events, ${seconds.toFixed(1)} s`)
  return failed === 0 ? 0 : 1
}
