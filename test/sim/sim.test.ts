/** The simulator over its first seeds of one broker, the same ones each time; of three see cluster/. More: `npm run sim -- --seeds 10000`. */

import { describe, expect, it } from 'vitest'
import { simulate } from './simulation.ts'

const SEEDS = 140
const SEEDS_PER_TEST = 20

describe('simulation', () => {
  for (let first = 1; first <= SEEDS; first += SEEDS_PER_TEST) {
    it(`keeps all promises with seeds ${first} to ${first + SEEDS_PER_TEST - 1}`, { timeout: 60_000 }, () => {
      const broken = []
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed++) {
        const { error } = simulate({ seed })
        if (error !== undefined) broken.push(`npm run sim -- --seed ${seed} --trace: ${error.stack}`)
      }
      expect(broken).toEqual([])
    })
  }

  it('takes it that a process nobody saw with a log wrote to it, between two crashes', () => {
    expect(simulate({ seed: 1137 }).error).toBeUndefined()
  })

  it('happens again the same way from the same seed', () => {
    const trace = (seed: number) => {
      const lines: string[] = []
      simulate({ seed, trace: line => lines.push(line) })
      return lines
    }
    const first = trace(4)
    expect(first.length).toBeGreaterThan(100)
    expect(trace(4)).toEqual(first)
    expect(trace(5)).not.toEqual(first)
  })
})
