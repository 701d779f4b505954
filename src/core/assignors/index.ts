// The assignors of the classic protocol by name, as a client may list them in `partition.assignment.strategy`. What a group uses is
// chosen by its coordinator among the names that all members know.

import type { Assignor } from './assignor.ts'
import { cooperativeStickyAssignor } from './cooperative-sticky.ts'
import { rangeAssignor } from './range.ts'
import { roundRobinAssignor } from './round-robin.ts'
import { stickyAssignor } from './sticky.ts'

export const assignors: readonly Assignor[] = [
  rangeAssignor,
  roundRobinAssignor,
  stickyAssignor,
  cooperativeStickyAssignor,
]
