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

/** A file that is being replaced. */
interface Running {
  /** What comes next. */
  next: Next | undefined
  /** True once the file was removed: what is under way must not bring it back. */
  isRemoved: boolean
}

export class Replacements {
  readonly #context: DiskContext
  readonly #renamed: (directory: DiskDirectory, name: string) => void
  readonly #running = new Map<DiskDirectory, Map<string, Running>>()

  /** @param renamed told when the new content has taken the place of what was there. */
  constructor(context: DiskContext, renamed: (directory: DiskDirectory, name: string) => void) {
    this.#context = context
    this.#renamed = renamed
  }

  replace(directory: DiskDirectory, name: string, bytes: Uint8Array): Later<SyncResult> {
    const later = new Later<SyncResult>(this.#context.turns)
    const inDirectory = this.#running.get(directory) ?? new Map<string, Running>()
    this.#running.set(directory, inDirectory)
    const running = inDirectory.get(name)
    if (running !== undefined) {
      const before = running.next
      // The caller may change its bytes once this has returned.
      running.next = { bytes: bytes.slice(), later }
      if (before) later.whenSettled(result => before.later.settle(result))
    } else {
      const begun = { next: undefined, isRemoved: false }
      inDirectory.set(name, begun)
      this.#run(directory, name, begun, { bytes, later })
    }
    return this.#context.track(later)
  }

  /** The file was removed: what is under way, or waits, has nothing to replace any more. */
  removed(directory: DiskDirectory, name: string): void {
    const running = this.#running.get(directory)?.get(name)
    if (running === undefined) return
    running.isRemoved = true
    running.next?.later.settle(undefined)
    running.next = undefined
  }

  #run(directory: DiskDirectory, name: string, running: Running, { bytes, later }: Next): void {
    running.isRemoved = false
    this.#write(directory, name, running, bytes).whenSettled(result => {
      later.settle(result)
      const { next } = running
      running.next = undefined
      if (next !== undefined) return this.#run(directory, name, running, next)
      const inDirectory = this.#running.get(directory)
      inDirectory?.delete(name)
      if (inDirectory?.size === 0) this.#running.delete(directory)
    })
  }

  #write(directory: DiskDirectory, name: string, running: Running, bytes: Uint8Array): Later<SyncResult> {
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
        else if (running.isRemoved) this.#drop(directory, name).whenSettled(dropped => result.settle(dropped))
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
      // The next replacement begins with the same file, so that it is emptied and not removed beside.
      giveBack(() => fileSystem.truncate(descriptor, 0))
      fileSystem.closeFileNow(descriptor)
      throw error
    }
  }

  #drop(directory: DiskDirectory, name: string): Later<SyncResult> {
    const unlinked = this.#context.fileSystem.unlink(directory.pathOf(name + TEMPORARY_SUFFIX))
    return unlinked.map(failure => failure && storageFailure(failure))
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

/** Does what is done for good order's sake: that it fails is no news, since something else has failed before. */
function giveBack(run: () => void): void {
  try {
    run()
  } catch {}
}
