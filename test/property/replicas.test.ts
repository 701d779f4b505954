/** A replicated partition of the cluster against the model: see replicas.ts for the histories, mapping.md for what is compared. */

import * as fc from 'fast-check'
import { it } from 'vitest'
import { replicaHistories } from './replicas.ts'
import { runs } from './world.ts'

it('leaders show what the in-sync replicas have, as in the model', { timeout: 600_000 }, () => {
  fc.assert(replicaHistories(), { numRuns: runs(100) })
})
