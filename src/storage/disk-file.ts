/**
 * One file of the disk storage, which all handles on it share: its size, what of it was not synced yet, and its descriptor as
 * long as it is open. Appends are all or nothing: what a full disk took of one is cut off again.
 */

import { assert } from '../util/assert.ts'
import { totalLength } from '../util/byte-writer.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'
import type { DiskDirectory } from './disk-directory.ts'
import { failureOf, storageError, storageFailure, throwingStorageErrors } from './errno.ts'
import type { FileId, FileSystem } from './file-system.ts'
import type { OpenableFile, OpenFiles } from './open-files.ts'
import { StorageError, type StorageFailure, type StorageFile } from './storage.ts'
import { allOf, type SyncResult, Syncs } from './syncs.ts'

/** What the files of one storage share. */
export interface DiskContext {
  readonly fileSystem: FileSystem
  readonly turns: Turns
  readonly openFiles: OpenFiles
  /** Counts a call that is under way, for `close()` to wait for. */
  track<T>(later: Later<T>): Later<T>
}

export class DiskFile implements OpenableFile {
  readonly #context: DiskContext
  readonly #syncs: Syncs
  directory: DiskDirectory
  name: string
  size: number
  /** The version of the directory that its entry came with. */
  entry: number
  /** When it was last written; undefined since it was, until somebody asks. */
  #modifiedMs: number | undefined
  /** Handles that were not closed. */
  handles = 0
  descriptor: FileId | undefined
  recentlyUsed = false
  /** What another process wrote may not be on the disk yet, so a file begins as one that was written. */
  dirty = true
  #named = true
  /** Why nothing may be appended any more. */
  #broken: StorageFailure | undefined

  constructor(
    context: DiskContext,
    place: { directory: DiskDirectory; name: string; entry: number; size: number; modifiedMs?: number },
  ) {
    this.#context = context
    this.directory = place.directory
    this.name = place.name
    this.entry = place.entry
    this.size = place.size
    this.#modifiedMs = place.modifiedMs
    this.#syncs = new Syncs(context.turns, () => this.#syncBytes())
  }

  get path(): string {
    return this.directory.pathOf(this.name)
  }

  get canClose(): boolean {
    return !this.#syncs.running
  }

  /** Opens it now, and makes it if it is not there. */
  create(): void {
    throwingStorageErrors(() => this.#context.openFiles.descriptor(this, true))
  }

  /** Removed, or another has taken its place. */
  lostName(): void {
    this.#named = false
  }

  get modifiedMs(): number | undefined {
    if (!this.#named) return undefined
    this.#modifiedMs ??= throwingStorageErrors(() => this.#context.fileSystem.status(this.path)?.modifiedMs)
    return this.#modifiedMs
  }

  setModified(modifiedMs: number): void {
    const descriptor = this.#descriptor()
    throwingStorageErrors(() => this.#context.fileSystem.setModified?.(descriptor, modifiedMs))
    this.#modifiedMs = undefined
  }

  append(parts: readonly Uint8Array[]): void {
    const length = totalLength(parts)
    if (length === 0) return
    if (this.#broken) throw new StorageError(this.#broken.code, this.#broken.message)
    const descriptor = this.#descriptor()
    this.dirty = true
    this.#modifiedMs = undefined
    try {
      writeAll(this.#context.fileSystem, descriptor, this.size, parts, length)
    } catch (error) {
      this.#cutBack(descriptor)
      throw storageError(error)
    }
    this.size += length
  }

  #cutBack(descriptor: FileId): void {
    try {
      this.#context.fileSystem.truncate(descriptor, this.size)
    } catch (error) {
      // What lies behind the end would count as part of the file when it is opened again.
      const { message } = failureOf(error)
      this.#broken = { code: 'IO', message: `cannot cut off what was half written to ${this.path}: ${message}` }
    }
  }

  readInto(position: number, target: Uint8Array): number {
    const wanted = Math.min(target.length, this.size - position)
    if (wanted <= 0) return 0
    const { fileSystem } = this.#context
    const descriptor = this.#descriptor()
    return throwingStorageErrors(() => {
      let count = 0
      while (count < wanted) {
        const room = count === 0 && wanted === target.length ? target : target.subarray(count, wanted)
        const read = fileSystem.readAt(descriptor, position + count, room)
        // Somebody else cut the file.
        if (read === 0) break
        count += read
      }
      return count
    })
  }

  read(position: number, length: number): Uint8Array[] {
    const wanted = Math.min(length, this.size - position)
    if (wanted <= 0) return []
    const bytes = this.#context.fileSystem.allocate(wanted)
    const count = this.readInto(position, bytes)
    if (count === 0) return []
    return [count === wanted ? bytes : bytes.subarray(0, count)]
  }

  writeAt(position: number, bytes: Uint8Array): void {
    assert(position >= 0 && position + bytes.length <= this.size, `writeAt beyond the end of ${this.path}`)
    const descriptor = this.#descriptor()
    this.dirty = true
    this.#modifiedMs = undefined
    throwingStorageErrors(() => writeAll(this.#context.fileSystem, descriptor, position, [bytes], bytes.length))
  }

  truncate(size: number): void {
    assert(size >= 0 && size <= this.size, `truncate beyond the end of ${this.path}`)
    if (size === this.size) return
    const descriptor = this.#descriptor()
    this.dirty = true
    this.#modifiedMs = undefined
    throwingStorageErrors(() => this.#context.fileSystem.truncate(descriptor, size))
    this.size = size
  }

  /** Settles once bytes and name would survive a power cut. A file without a name has nothing that has to. */
  flush(): Later<SyncResult> {
    const { turns, track } = this.#context
    if (!this.#named) return Later.of<SyncResult>(turns, undefined)
    // What is clean came before the sync that is under way began, which may yet fail.
    const bytes = this.dirty ? this.#syncs.sync() : this.#syncs.last()
    return track(allOf(turns, [bytes, this.directory.sync(this.entry)]))
  }

  #syncBytes(): Later<SyncResult> {
    const { fileSystem, turns } = this.#context
    if (!this.#named) return Later.of<SyncResult>(turns, undefined)
    let descriptor: FileId
    try {
      descriptor = this.#descriptor()
    } catch (error) {
      return Later.of<SyncResult>(turns, failureOf(error))
    }
    this.dirty = false
    return fileSystem.syncFile(descriptor).map(failure => failure && storageFailure(failure))
  }

  /** Gives its descriptor back; the last handle was closed. Waits for a sync that needs it. */
  close(): Later<SyncResult> {
    const { fileSystem, turns, openFiles, track } = this.#context
    const close = (): Later<SyncResult> => {
      const descriptor = openFiles.release(this)
      if (descriptor === undefined) return Later.of<SyncResult>(turns, undefined)
      return fileSystem.closeFile(descriptor).map(failure => failure && storageFailure(failure))
    }
    if (!this.#syncs.running) return track(close())
    const closed = new Later<SyncResult>(turns)
    const afterSync = () => {
      if (this.#syncs.running) this.#syncs.last().whenSettled(afterSync)
      // Somebody has opened it again, and keeps the descriptor.
      else if (this.handles > 0) closed.settle(undefined)
      else close().whenSettled(failure => closed.settle(failure))
    }
    this.#syncs.last().whenSettled(afterSync)
    return track(closed)
  }

  #descriptor(): FileId {
    const { descriptor } = this
    if (descriptor !== undefined) {
      this.recentlyUsed = true
      return descriptor
    }
    // Another file may have its name by now.
    if (!this.#named) throw new StorageError('NOT_FOUND', `the file was removed: ${this.name}`)
    return throwingStorageErrors(() => this.#context.openFiles.descriptor(this))
  }
}

/** Writes everything, in as many calls as it takes. */
export function writeAll(
  fileSystem: FileSystem,
  descriptor: FileId,
  position: number,
  parts: readonly Uint8Array[],
  length: number,
): void {
  let written = fileSystem.writevAt(descriptor, position, parts)
  while (written < length) {
    const rest = partsFrom(parts, written)
    const count = fileSystem.writevAt(descriptor, position + written, rest)
    if (count <= 0) throw new StorageError('IO', 'the file system takes no more bytes and gives no reason')
    written += count
  }
}

function partsFrom(parts: readonly Uint8Array[], skip: number): Uint8Array[] {
  const rest: Uint8Array[] = []
  for (const part of parts) {
    if (skip < part.length) rest.push(skip === 0 ? part : part.subarray(skip))
    skip = Math.max(0, skip - part.length)
  }
  return rest
}

/** A handle on a file. */
export class DiskFileHandle implements StorageFile {
  readonly path: string
  readonly #file: DiskFile
  readonly #closed: (file: DiskFile) => Later<SyncResult>
  readonly #turns: Turns
  #open = true

  constructor(path: string, file: DiskFile, turns: Turns, closed: (file: DiskFile) => Later<SyncResult>) {
    this.path = path
    this.#file = file
    this.#turns = turns
    this.#closed = closed
    file.handles++
  }

  get size(): number {
    return this.#file.size
  }

  get modifiedMs(): number | undefined {
    return this.#file.modifiedMs
  }

  setModified(modifiedMs: number): void {
    this.#used().setModified(modifiedMs)
  }

  appendv(parts: readonly Uint8Array[]): void {
    this.#used().append(parts)
  }

  readInto(position: number, target: Uint8Array): number {
    return this.#used().readInto(position, target)
  }

  read(position: number, length: number): Uint8Array[] {
    return this.#used().read(position, length)
  }

  writeAt(position: number, bytes: Uint8Array): void {
    this.#used().writeAt(position, bytes)
  }

  truncate(size: number): void {
    this.#used().truncate(size)
  }

  flush(): Later<SyncResult> {
    return this.#open ? this.#file.flush() : Later.of<SyncResult>(this.#turns, undefined)
  }

  close(): Later<SyncResult> {
    if (!this.#open) return Later.of<SyncResult>(this.#turns, undefined)
    this.#open = false
    this.#file.handles--
    return this.#closed(this.#file)
  }

  #used(): DiskFile {
    if (!this.#open) throw new StorageError('IO', `the file is closed: ${this.path}`)
    return this.#file
  }
}
