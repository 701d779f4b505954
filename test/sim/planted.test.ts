/** The test of the test: faults that are planted are found, each within so many seeds; without them the same seeds are clean. */

import { describe, expect, it } from 'vitest'
import { PLANTED, type PlantedFault } from './planted.ts'
import { simulate } from './simulation.ts'

const SEEDS = 40

/** The first seed that finds the fault, and what it says. */
function find({ plan, plant, wrapFileSystem }: PlantedFault): { seed: number; error: Error } | undefined {
  const takeOut = plant?.()
  try {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { error } = simulate({ seed, plan, wrapFileSystem })
      if (error !== undefined) return { seed, error }
    }
    return undefined
  } finally {
    takeOut?.()
  }
}

describe('a broker that', () => {
  it.each(PLANTED)('$name is found out', { timeout: 60_000 }, fault => {
    const found = find(fault)
    expect(found?.error.name, `not found within ${SEEDS} seeds`).toBe('Violation')
    // What was found was the fault.
    expect(simulate({ seed: found?.seed as number, plan: fault.plan }).error).toBeUndefined()
  })
})
