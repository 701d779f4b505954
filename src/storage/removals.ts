/**
 * Removes files and directories. Their names are free at once, by a rename, so that something new may take them; freeing the
 * blocks of a large file can take long and is done beside. What a crash leaves behind ends in `.deleted`, as the files of
 * deleted segments do, and is swept up when its directory is opened again.
 */

import { Later } from '../util/later.ts'
import type { DiskDirectory } from './disk-directory.ts'
import type { DiskContext } from './disk-file.ts'
import { failureOf, storageFailure } from './errno.ts'
import type { FileSystem } from './file-system.ts'
import type { StorageFailure } from './storage.ts'
import { allOf, type SyncResult } from './syncs.ts'

/** What something is called that is being removed. */
export const DELETED_SUFFIX = '.deleted'

export class Removals {
  readonly #context: DiskContext
  readonly #fileSystem: FileSystem
  /** Paths that are being removed, which nobody is to see. */
  readonly #paths = new Set<string>()
  #count = 0

  constructor(context: DiskContext) {
    this.#context = context
    this.#fileSystem = context.fileSystem
  }

  /** True for a name in a directory that only waits for its end. */
  has(directory: string, name: string): boolean {
    return this.#paths.size > 0 && this.#paths.has(directory === '' ? name : `${directory}/${name}`)
  }

  /** Begins to remove what has that name; throws when it cannot be renamed. */
  begin(directory: DiskDirectory, name: string, isDirectory: boolean): Later<SyncResult> {
    const path = this.#unusedPath(directory, name)
    this.#fileSystem.rename(directory.pathOf(name), path)
    this.#paths.add(path)
    const removed = isDirectory ? this.#removeDirectory(path) : this.#unlink(path)
    removed.whenSettled(() => this.#paths.delete(path))
    return removed
  }

  #unusedPath(directory: DiskDirectory, name: string): string {
    for (;;) {
      const path = directory.pathOf(`${name}.${this.#count++}${DELETED_SUFFIX}`)
      // One may be left from a process that died.
      if (this.#fileSystem.status(path) === undefined) return path
    }
  }

  #unlink(path: string): Later<SyncResult> {
    // Removed on its own before its directory was, and by now gone.
    return this.#fileSystem.unlink(path).map(failure => failure && unlessGone(storageFailure(failure)))
  }

  #removeDirectory(path: string): Later<SyncResult> {
    const { turns } = this.#context
    const removed = new Later<SyncResult>(turns)
    try {
      const entries = this.#fileSystem.list(path)
      const parts = entries.map(({ name, isDirectory }) =>
        isDirectory ? this.#removeDirectory(`${path}/${name}`) : this.#unlink(`${path}/${name}`),
      )
      allOf(turns, parts).whenSettled(failure => removed.settle(failure ?? this.#removeEmptyDirectory(path)))
    } catch (error) {
      removed.settle(unlessGone(failureOf(error)))
    }
    return removed
  }

  #removeEmptyDirectory(path: string): SyncResult {
    try {
      this.#fileSystem.removeDirectory(path)
      return undefined
    } catch (error) {
      return unlessGone(failureOf(error))
    }
  }
}

function unlessGone(failure: StorageFailure): SyncResult {
  return failure.code === 'NOT_FOUND' ? undefined : failure
}
