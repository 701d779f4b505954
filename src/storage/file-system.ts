/**
 * The raw calls of an operating system that the disk storage is built on, as thin as they can be: no buffering, no repair,
 * no memory of what was synced. `node/` implements it with node:fs, the simulator in memory with the losses that a power cut
 * brings. Not for the log: it uses the storage port, which `DiskStorage` makes of this.
 *
 * Paths are relative to the root, with `/` between names; the root itself is `''`. Synchronous calls throw an Error whose `code` is
 * the name of the errno, such as `ENOSPC` or `ENOENT` ({@link FileSystemError} or Node's own); asynchronous ones settle with it.
 */

import type { Later } from '../util/later.ts'

/** An open file: a descriptor. */
export type FileId = number

/** Why a call failed. */
export interface FileSystemFailure {
  /** The name of the errno. `ELOCKED` for a lock that somebody has. */
  readonly code: string
  readonly message: string
}

/** What synchronous calls of an implementation of its own throw. */
export class FileSystemError extends Error implements FileSystemFailure {
  override readonly name = 'FileSystemError'
  readonly code: string

  constructor(code: string, message: string) {
    super(`${code}: ${message}`)
    this.code = code
  }
}

export interface FileStatus {
  readonly isDirectory: boolean
  /** Bytes in the file; means nothing for a directory. */
  readonly size: number
  /** When a file was last written, by the clock of the system, in milliseconds; left out by one that does not know. */
  readonly modifiedMs?: number
}

export interface DirectoryEntry {
  readonly name: string
  readonly isDirectory: boolean
}

export interface FileSystem {
  /** The root for people, such as `/var/lib/ottla`. */
  readonly path: string

  /** Opens a file for reading and writing; `create` makes it when it is not there (its directory has to be). */
  openFile(path: string, options: { create: boolean }): FileId
  /** How many bytes an open file has now. */
  fileSize(file: FileId): number
  /** Reads from `position` on into `target`; returns how many bytes, which is less than asked for at the end of the file. */
  readAt(file: FileId, position: number, target: Uint8Array): number
  /** Writes parts one behind the other from `position` on; returns how many bytes were written, which may be fewer than given. */
  writevAt(file: FileId, position: number, parts: readonly Uint8Array[]): number
  truncate(file: FileId, size: number): void
  /** Says that an open file counts as written at that time; left out by one that does not keep such times. */
  setModified?(file: FileId, modifiedMs: number): void
  /** Brings the bytes and the size of a file to the disk as they are when it is called (fdatasync); not its directory entry. */
  syncFile(file: FileId): Later<FileSystemFailure | undefined>
  /** The file may not be used from the call on. What was not synced is neither synced nor lost. */
  closeFile(file: FileId): Later<FileSystemFailure | undefined>
  /** The same at once, for a caller that has run out of descriptors. */
  closeFileNow(file: FileId): void

  /** What is at a path; undefined when nothing is. */
  status(path: string): FileStatus | undefined
  /** What is in a directory, in any order. */
  list(directory: string): DirectoryEntry[]
  /** Makes one directory; `EEXIST` when something is there. */
  makeDirectory(path: string): void
  /** Moves a file, over another one if need be, or a directory. */
  rename(from: string, to: string): void
  /** Takes away the name of a file; those who have it open go on. The name is gone when it settles, and perhaps before. */
  unlink(path: string): Later<FileSystemFailure | undefined>
  /** Removes an empty directory. */
  removeDirectory(path: string): void
  /** Brings the entries of a directory to the disk as they are when it is called: files made in it, moved or removed. */
  syncDirectory(path: string): Later<FileSystemFailure | undefined>

  /** The room on the file system, in bytes. */
  space(): { totalBytes: number; usableBytes: number }
  /** Takes the root for this process, which keeps it until `unlock` or its end, however it ends. */
  lock(): Later<FileSystemFailure | undefined>
  unlock(): Later<FileSystemFailure | undefined>

  /** Room to read into, which need not be zeros: a caller fills it or throws it away. */
  allocate(length: number): Uint8Array
}
