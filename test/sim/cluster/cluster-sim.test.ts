/**
 * Three brokers over the first seeds, the same ones each time, and over those that once found something. More:
 * `npm run sim -- --brokers 3 --seeds 10000`.
 */

import { describe, expect, it } from 'vitest'
import { simulateCluster } from './cluster-simulation.ts'

const SEEDS = 60
const SEEDS_PER_TEST = 10

/**
 * Seeds that failed once, and why. When the simulation draws something new they come to mean something else, so what they found in a broker
 * has a test of its own beside the code.
 */
const KEPT_SEEDS: readonly [seed: number, found: string][] = [
  [21028, 'the checkers did not see a high watermark that moved in the event in which its broker was struck'],
  [30372, 'the last replica in sync had lost its power already when the controller took out one that lived'],
  [41002, 'the same in memory'],
  [
    50083,
    'the first batches of a producer got NOT_ENOUGH_REPLICAS, and one that followed on the way was taken before them',
  ],
]

/** What was broken with the seeds, with how to see it again. */
function brokenOf(seeds: readonly number[]): string[] {
  const broken = []
  for (const seed of seeds) {
    const { error } = simulateCluster({ seed })
    if (error !== undefined) broken.push(`npm run sim -- --brokers 3 --seed ${seed} --trace: ${error.stack}`)
  }
  return broken
}

describe('simulation of three brokers', () => {
  for (let first = 1; first <= SEEDS; first += SEEDS_PER_TEST) {
    it(`keeps all promises with seeds ${first} to ${first + SEEDS_PER_TEST - 1}`, { timeout: 60_000 }, () => {
      expect(brokenOf(Array.from({ length: SEEDS_PER_TEST }, (_, index) => first + index))).toEqual([])
    })
  }

  it('keeps all promises with the seeds that failed once', { timeout: 60_000 }, () => {
    expect(brokenOf(KEPT_SEEDS.map(([seed]) => seed))).toEqual([])
  })

  it('happens again the same way from the same seed', () => {
    const trace = (seed: number) => {
      const lines: string[] = []
      simulateCluster({ seed, trace: line => lines.push(line) })
      return lines
    }
    const first = trace(2)
    expect(first.length).toBeGreaterThan(100)
    expect(trace(2)).toEqual(first)
    expect(trace(3)).not.toEqual(first)
  })
})
