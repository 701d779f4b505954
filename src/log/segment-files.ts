/**
 * The names of the files that make up a log, which are Kafka's (`LogFileUtils`). A segment is a `.log` file; its indexes lie beside
 * it under the same number.
 */

import type { Storage, StorageFile } from '../storage/storage.ts'

export { DELETED_SUFFIX } from '../storage/removals.ts'

export const LOG_SUFFIX = '.log'
export const OFFSET_INDEX_SUFFIX = '.index'
export const TIME_INDEX_SUFFIX = '.timeindex'
export const TRANSACTION_INDEX_SUFFIX = '.txnindex'
/** What is known of producers, taken at the offset that the name says. */
export const SNAPSHOT_SUFFIX = '.snapshot'
/** What the cleaner writes. A crash leaves it half done, so it goes. */
export const CLEANED_SUFFIX = '.cleaned'
/** What the cleaner has written whole: it takes the place of what it was made of, whatever happens. */
export const SWAP_SUFFIX = '.swap'

const INDEX_SUFFIXES = [OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX] as const
export const SEGMENT_SUFFIXES = [LOG_SUFFIX, ...INDEX_SUFFIXES] as const

/** The name of a file of the segment, or of the snapshot, at `offset`. */
export function fileName(offset: number, suffix: string): string {
  return `${String(offset).padStart(20, '0')}${suffix}`
}

export function segmentName(baseOffset: number): string {
  return fileName(baseOffset, LOG_SUFFIX)
}

/** The offset that the name of a file with this suffix says, or undefined for any other name. */
export function offsetOf(name: string, suffix: string): number | undefined {
  if (name.length !== 20 + suffix.length || !name.endsWith(suffix) || !/^\d{20}/.test(name)) return undefined
  const offset = Number(name.slice(0, 20))
  return Number.isSafeInteger(offset) ? offset : undefined
}

/** The base offset that a file name says, or undefined for any other file. */
export function baseOffsetOf(name: string): number | undefined {
  return offsetOf(name, LOG_SUFFIX)
}

/** Opens a file for `use`, and closes it. */
export function withFile<T>(storage: Storage, path: string, use: (file: StorageFile) => T): T {
  const file = storage.open(path)
  try {
    return use(file)
  } finally {
    file.close()
  }
}
