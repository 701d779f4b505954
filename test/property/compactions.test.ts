/** A compacted partition on the broker against the model: see compactions.ts for the histories, mapping.md for what is compared. */

import * as fc from 'fast-check'
import { it } from 'vitest'
import { compactionHistories } from './compactions.ts'
import { runs } from './world.ts'

it('a compacted log on the broker is what the model makes of it', { timeout: 600_000 }, () => {
  fc.assert(compactionHistories(), { numRuns: runs(60) })
})
