/** What becomes of calls on the storage of which one must follow the other. */

import type { StorageFailure } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'

type Result = StorageFailure | undefined

/** Begins `close` once `first` has settled, however that went; settles with the first failure of the two. */
export function closeAfter(turns: Turns, first: Later<Result>, close: () => Later<Result>): Later<Result> {
  const result = new Later<Result>(turns)
  first.whenSettled(failure => close().whenSettled(closeFailure => result.settle(failure ?? closeFailure)))
  return result
}
