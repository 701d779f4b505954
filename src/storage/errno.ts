/**
 * What the errors of a file system mean to those above the storage port, who know four kinds of them. The name of the errno
 * and the path stay in the message, for the operator.
 */

import type { FileSystemFailure } from './file-system.ts'
import { StorageError, type StorageErrorCode, type StorageFailure } from './storage.ts'

const CODES: Readonly<Record<string, StorageErrorCode>> = {
  ENOENT: 'NOT_FOUND',
  ENOSPC: 'NO_SPACE',
  // The quota of a user is used up: for this broker the disk is full.
  EDQUOT: 'NO_SPACE',
  ELOCKED: 'LOCKED',
}

export function storageFailure({ code, message }: FileSystemFailure): StorageFailure {
  return { code: CODES[code] ?? 'IO', message }
}

/** The error to throw for what a call of the file system threw; what bears no errno is a mistake of ours and stays as it is. */
export function storageError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || thrown instanceof StorageError || !isErrno(thrown)) return thrown
  const { code, message } = storageFailure(thrown)
  return new StorageError(code, message)
}

/** Runs a call of the file system; what it throws becomes what the storage port throws. */
export function throwingStorageErrors<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw storageError(error)
  }
}

/** The same for an asynchronous call. */
export function failureOf(thrown: unknown): StorageFailure {
  const error = storageError(thrown)
  if (!(error instanceof StorageError)) throw error
  return { code: error.code, message: error.message }
}

export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && isErrno(thrown) ? thrown.code : undefined
}

function isErrno(error: Error): error is Error & FileSystemFailure {
  return 'code' in error && typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code)
}
