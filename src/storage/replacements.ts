/**
 * Puts new content in the place of files as a whole: a temporary file is written and synced, then renamed over the old one,
 * then the directory is synced. After a crash at any moment the old content is there or the new. One replacement of a file is
 * under way at a time; of those that come meanwhile only the last is done, since nobody would see the others.
 */

import { Later } from '../util/later.ts'
import type { DiskDirectory } from './disk-directory.ts'
import { type DiskContext, writeAll } from './disk-file.ts'
import { failureOf, storageFailure } from './errno.ts'
import type { FileId } from './file-system.ts'
import type { SyncResult } from './syncs.ts'

/** What the new content is called until it is whole. */
export const TEMPORARY_SUFFIX = '.tmp'

interface Next {
  readonly bytes: Uint8Array
  readonly later: Later<SyncResult>
}

export class Replacements {
  readonly #context: DiskContext
  readonly #renamed: (directory: DiskDirectory, name: string) => void
  /** What comes next, for each file that is being replaced. */
  readonly #running = new Map<DiskDirectory, Map<string, Next | undefined>>()

  /** @param renamed told when the new content has taken the place of what was there. */
  constructor(context: DiskContext, renamed: (directory: DiskDirectory, name: string) => void) {
    this.#context = context
    this.#renamed = renamed
  }

  replace(directory: DiskDirectory, name: string, bytes: Uint8Array): Later<SyncResult> {
    const later = new Later<SyncResult>(this.#context.turns)
    const running = this.#running.get(directory)
    if (running?.has(name)) {
      const before = running.get(name)
      // The caller may change its bytes once this has returned.
      running.set(name, { bytes: bytes.slice(), later })
      if (before) later.whenSettled(result => before.later.settle(result))
    } else {
      if (running) running.set(name, undefined)
      else this.#running.set(directory, new Map([[name, undefined]]))
      this.#run(directory, name, { bytes, later })
    }
    return this.#context.track(later)
  }

  #run(directory: DiskDirectory, name: string, { bytes, later }: Next): void {
    this.#write(directory, name, bytes).whenSettled(result => {
      later.settle(result)
      const running = this.#running.get(directory)
      const next = running?.get(name)
      if (next !== undefined) {
        running?.set(name, undefined)
        this.#run(directory, name, next)
        return
      }
      running?.delete(name)
      if (running?.size === 0) this.#running.delete(directory)
    })
  }

  #write(directory: DiskDirectory, name: string, bytes: Uint8Array): Later<SyncResult> {
    const { fileSystem, turns } = this.#context
    const result = new Later<SyncResult>(turns)
    if (directory.removed) return Later.of<SyncResult>(turns, undefined)
    let descriptor: FileId | undefined
    try {
      descriptor = this.#writeTemporary(directory.pathOf(name + TEMPORARY_SUFFIX), bytes)
    } catch (error) {
      return Later.of<SyncResult>(turns, failureOf(error))
    }
    fileSystem.syncFile(descriptor).whenSettled(syncFailure => {
      fileSystem.closeFile(descriptor).whenSettled(closeFailure => {
        const failure = syncFailure ?? closeFailure
        // The directory went meanwhile, and the temporary file with it.
        if (directory.removed) result.settle(undefined)
        else if (failure) result.settle(storageFailure(failure))
        else this.#rename(directory, name).whenSettled(renamed => result.settle(renamed))
      })
    })
    return result
  }

  #writeTemporary(path: string, bytes: Uint8Array): FileId {
    const { fileSystem, openFiles } = this.#context
    const descriptor = openFiles.withRoom(() => fileSystem.openFile(path, { create: true }))
    try {
      // One may be left from a process that died.
      fileSystem.truncate(descriptor, 0)
      if (bytes.length > 0) writeAll(fileSystem, descriptor, 0, [bytes], bytes.length)
      return descriptor
    } catch (error) {
      fileSystem.closeFileNow(descriptor)
      fileSystem.unlink(path)
      throw error
    }
  }

  #rename(directory: DiskDirectory, name: string): Later<SyncResult> {
    const { fileSystem, turns } = this.#context
    try {
      const path = directory.pathOf(name)
      fileSystem.rename(path + TEMPORARY_SUFFIX, path)
    } catch (error) {
      return Later.of<SyncResult>(turns, failureOf(error))
    }
    this.#renamed(directory, name)
    return directory.sync(directory.changed())
  }
}
