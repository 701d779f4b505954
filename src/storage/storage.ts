import type { Later } from '../util/later.ts'

/**
 * The storage port: files of bytes, below anything that knows Kafka. Memory and disk implement it; the log code above
 * is the same for both. Reads and writes are synchronous (a read from the page cache costs microseconds, a promise
 * ten times that); what can take long is a `Later`. Paths are relative to the root of the storage, with `/` between names.
 */
export interface Storage {
  /** True when it is gone with the process, so that nothing is kept for afterwards. */
  readonly isVolatile: boolean
  /** Opens a file for reading and writing. */
  open(path: string, options?: OpenOptions): StorageFile
  exists(path: string): boolean
  /** The names in a directory, sorted; empty when there is no such directory. */
  list(directory: string): string[]
  /** Removes a file, or a directory with all it holds. */
  remove(path: string): Later<StorageFailure | undefined>
  /** Moves a file, over another one if need be, or a directory; the directories of `to` are made. */
  rename(from: string, to: string): void
  /** Puts `bytes` in the place of a file's content so that after a crash either the old or the new is there, whole. */
  replace(path: string, bytes: Uint8Array): Later<StorageFailure | undefined>
  /**
   * Settles once the entries of a directory, as they are now, would survive a power cut: for files in it that were renamed or
   * removed. Whoever flushes a file needs it not, nor whoever replaces one.
   */
  syncDirectory(directory: string): Later<StorageFailure | undefined>
  /** Takes the storage for this process alone; settles with a failure when somebody has it. */
  lock(): Later<StorageFailure | undefined>
  /** Where it is and how much room there is. */
  usage(): StorageUsage
  close(): Later<StorageFailure | undefined>
}

export interface OpenOptions {
  /** Makes the file, and its directories, when it is not there. */
  readonly create?: boolean
  /** A file that is made is counted, but a limit on what may be kept does not end its growth: the broker needs it to go on. */
  readonly exempt?: boolean
}

export interface AppendOptions {
  /** The bytes never change, as those of a read of another file: memory may share one part of them instead of copying it. */
  readonly immutable?: boolean
  /** The time, for a storage that has no clock of its own: see {@link StorageFile.modifiedMs}. */
  readonly nowMs?: number
}

export interface StorageUsage {
  /** A name for people: the directory, or `/memory`. */
  readonly path: string
  readonly totalBytes: number
  readonly usableBytes: number
}

/**
 * A handle on a file. It goes on reading the same bytes when the file is renamed, replaced or removed, as long as it need not be
 * opened again: a disk keeps a bounded number of files open. Whoever has no use for it any more closes it.
 */
export interface StorageFile {
  readonly path: string
  readonly size: number
  /** When it was last written, in milliseconds; undefined where nobody knows. */
  readonly modifiedMs: number | undefined
  /** Says that it counts as written at that time, until it is written again. Where that cannot be kept nothing happens. */
  setModified(modifiedMs: number): void
  /**
   * Appends all parts or, when it throws {@link StorageError}, nothing. The bytes are copied before it returns, unless they
   * are said to be immutable.
   */
  appendv(parts: readonly Uint8Array[], options?: AppendOptions): void
  /** Copies bytes from `position` on into `target`; returns how many there were. */
  readInto(position: number, target: Uint8Array): number
  /**
   * Bytes from `position` on, at most `length`, as parts that stay valid and unchanged for as long as they are held
   * (memory hands out views of itself; disk reads into buffers).
   */
  read(position: number, length: number): Uint8Array[]
  writeAt(position: number, bytes: Uint8Array): void
  truncate(size: number): void
  /**
   * Settles once everything written so far would survive a power cut, and the file's name with it. Never tried again after a
   * failure: from then on every flush of the file fails.
   */
  flush(): Later<StorageFailure | undefined>
  close(): Later<StorageFailure | undefined>
}

/** Why an asynchronous call on the storage failed. */
export interface StorageFailure {
  readonly code: StorageErrorCode
  readonly message: string
}

/**
 * NO_SPACE: the disk is full, which may pass. OVER_LIMIT: more than this storage was told to keep. DAMAGED: what is read is not what
 * was brought to the disk.
 */
export type StorageErrorCode = 'NOT_FOUND' | 'NO_SPACE' | 'OVER_LIMIT' | 'LOCKED' | 'DAMAGED' | 'IO'

/** True when nothing is broken: there is only no room for more. */
export function isShortOfRoom(code: StorageErrorCode): boolean {
  return code === 'NO_SPACE' || code === 'OVER_LIMIT'
}

/** Thrown by the synchronous calls. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  readonly code: StorageErrorCode

  constructor(code: StorageErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
