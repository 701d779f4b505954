/** Partitions and their reader on the broker against the model: see logs.ts for the histories, mapping.md for what is compared. */

import * as fc from 'fast-check'
import { it } from 'vitest'
import { logHistories } from './logs.ts'
import { runs } from './world.ts'

it('logs, producers and readers on the broker do what those of the model do', { timeout: 600_000 }, () => {
  fc.assert(logHistories(), { numRuns: runs(250) })
})
