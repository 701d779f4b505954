/** The test of the test: faults that are planted in replication are found, each within so many seeds; without them the same seeds are clean. */

import { describe, expect, it } from 'vitest'
import { simulateCluster } from './cluster-simulation.ts'
import { PLANTED_REPLICATION, type PlantedReplicationFault } from './planted-replication.ts'

const SEEDS = 30

/** The first seed that finds the fault, and what it says. */
function find({ plan, plant }: PlantedReplicationFault): { seed: number; error: Error } | undefined {
  const takeOut = plant()
  try {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { error } = simulateCluster({ seed, plan })
      if (error !== undefined) return { seed, error }
    }
    return undefined
  } finally {
    takeOut()
  }
}

describe('a cluster that', () => {
  it.each(PLANTED_REPLICATION)('$name is found out', { timeout: 60_000 }, fault => {
    const found = find(fault)
    expect(found?.error.name, `not found within ${SEEDS} seeds`).toBe('Violation')
    // What was found was the fault.
    expect(simulateCluster({ seed: found?.seed as number, plan: fault.plan }).error).toBeUndefined()
  })
})
