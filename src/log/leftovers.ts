/**
 * Puts a log's directory in order before it is opened: what a crash left half done is finished or undone (Kafka's
 * `LogLoader.removeTempFilesAndCollectSwapFiles` and what `load` does with the swap files).
 */

import { batchLastOffset } from '../records/batch-header.ts'
import { RecordsError } from '../records/records-error.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { BatchScanner } from './batch-scanner.ts'
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  LOG_SUFFIX,
  offsetOf,
  SEGMENT_SUFFIXES,
  SWAP_SUFFIX,
  withFile,
} from './segment-files.ts'

/**
 * Removes files that were deleted, and what a cleaner had not finished; puts what it had finished in the place of what that was
 * made of. Returns the names that are left, sorted.
 */
export function finishLeftovers(storage: Storage, directory: string, env: Env): string[] {
  const names = storage.list(directory)
  const swaps = names.filter(name => name.endsWith(SWAP_SUFFIX))
  // A swap file is whole, and what it was made of may be gone, whatever else the cleaner had begun.
  for (const name of names) {
    if (name.endsWith(CLEANED_SUFFIX) || name.endsWith(DELETED_SUFFIX)) storage.remove(`${directory}/${name}`)
  }
  if (swaps.length > 0) {
    finishSwaps(storage, directory, swaps)
    env.log('info', 'finished the replacing of segments that a crash cut short', {
      path: directory,
      files: swaps.length,
    })
  }
  const left = swaps.length > 0 ? storage.list(directory) : names
  return left.filter(name => ![CLEANED_SUFFIX, DELETED_SUFFIX].some(suffix => name.endsWith(suffix)))
}

function finishSwaps(storage: Storage, directory: string, swaps: readonly string[]): void {
  const ranges = swaps
    .filter(name => name.endsWith(LOG_SUFFIX + SWAP_SUFFIX))
    .map(name => ({ from: Number(name.slice(0, 20)), to: endOffsetOf(storage, `${directory}/${name}`) }))
  // An index that is left of a segment which is gone would be taken for one of the new.
  for (const name of storage.list(directory)) {
    const base = SEGMENT_SUFFIXES.map(suffix => offsetOf(name, suffix)).find(offset => offset !== undefined)
    if (base === undefined || !ranges.some(({ from, to }) => from <= base && base < Math.max(to, from + 1))) continue
    storage.remove(`${directory}/${name}`)
  }
  for (const name of swaps) storage.rename(`${directory}/${name}`, `${directory}/${name.slice(0, -SWAP_SUFFIX.length)}`)
  storage.syncDirectory(directory)
}

/** The offset behind the last whole batch of a file. */
function endOffsetOf(storage: Storage, path: string): number {
  return withFile(storage, path, file => {
    let endOffset = 0
    try {
      for (const scanner = new BatchScanner(file, 0); scanner.next(); ) {
        endOffset = batchLastOffset(scanner.window, scanner.at) + 1
      }
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
    }
    return endOffset
  })
}
