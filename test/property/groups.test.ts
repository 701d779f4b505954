/** Consumer groups on the broker against the model: see groups.ts for the histories and mapping.md for what is compared. */

import * as fc from 'fast-check'
import { it } from 'vitest'
import { groupHistories } from './groups.ts'
import { runs } from './world.ts'

it('groups on the broker do what groups of the model do', { timeout: 600_000 }, () => {
  fc.assert(groupHistories(), { numRuns: runs(150) })
})
