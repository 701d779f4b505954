/** Three brokers over the first seeds, the same ones each time. More: `npm run sim -- --brokers 3 --seeds 10000`. */

import { describe, expect, it } from 'vitest'
import { simulateCluster } from './cluster-simulation.ts'

const SEEDS = 60
const SEEDS_PER_TEST = 10

describe('simulation of three brokers', () => {
  for (let first = 1; first <= SEEDS; first += SEEDS_PER_TEST) {
    it(`keeps all promises with seeds ${first} to ${first + SEEDS_PER_TEST - 1}`, { timeout: 60_000 }, () => {
      const broken = []
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed++) {
        const { error } = simulateCluster({ seed })
        if (error !== undefined) broken.push(`npm run sim -- --brokers 3 --seed ${seed} --trace: ${error.stack}`)
      }
      expect(broken).toEqual([])
    })
  }

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
