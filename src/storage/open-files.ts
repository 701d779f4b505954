/**
 * The files that are open at the operating system: a bounded number, since a broker has more segments than a process may have
 * descriptors. Who is in need of one gets it; when there are too many, one that was not used lately is closed, and opened
 * again when it is needed (the second-chance algorithm: a use costs no more than setting a flag).
 */

import { errnoOf } from './errno.ts'
import type { FileId, FileSystem } from './file-system.ts'

/** A file as those see it who open and close it. */
export interface OpenableFile {
  readonly path: string
  descriptor: FileId | undefined
  /** Set at each use, taken back as the hand of the clock passes. */
  recentlyUsed: boolean
  /** False while something is under way that needs the descriptor. */
  readonly canClose: boolean
  /** True when it was written and not synced since. It is closed only when there is no other. */
  readonly dirty: boolean
}

/** How many clean files are looked for before one that is not synced is closed. */
const LOOK_FOR_CLEAN = 32
/** With fewer than this nothing would go forward. */
const FEWEST = 16

export class OpenFiles {
  readonly #fileSystem: FileSystem
  readonly #open = new Set<OpenableFile>()
  #max: number

  constructor(fileSystem: FileSystem, max: number) {
    this.#fileSystem = fileSystem
    this.#max = Math.max(FEWEST, max)
  }

  get count(): number {
    return this.#open.size
  }

  /** The descriptor of a file, which is opened if need be. */
  descriptor(file: OpenableFile, create = false): FileId {
    file.recentlyUsed = true
    if (file.descriptor !== undefined) return file.descriptor
    while (this.#open.size >= this.#max) if (!this.#closeOne()) break
    file.descriptor = this.#openFile(file.path, create)
    this.#open.add(file)
    return file.descriptor
  }

  /** Forgets a file and returns its descriptor, which the caller closes. */
  release(file: OpenableFile): FileId | undefined {
    const { descriptor } = file
    file.descriptor = undefined
    this.#open.delete(file)
    return descriptor
  }

  /** Runs `open`, and when the process has no descriptor left gives some back and runs it once more. */
  withRoom<T>(open: () => T): T {
    try {
      return open()
    } catch (error) {
      const errno = errnoOf(error)
      if (errno !== 'EMFILE' && errno !== 'ENFILE') throw error
      // The limit of the process is lower than was thought, or sockets have taken their share.
      this.#max = Math.max(FEWEST, Math.floor(this.#open.size * 0.75))
      while (this.#open.size > this.#max) if (!this.#closeOne()) break
      return open()
    }
  }

  #openFile(path: string, create: boolean): FileId {
    return this.withRoom(() => this.#fileSystem.openFile(path, { create }))
  }

  /** Closes one file; false when all are needed. */
  #closeOne(): boolean {
    let dirty: OpenableFile | undefined
    let seen = 0
    // Twice round at most: the first takes back what the flags say.
    let left = this.#open.size * 2
    for (const file of this.#open) {
      if (left-- === 0) break
      if (!file.canClose || file.recentlyUsed) {
        file.recentlyUsed = false
        // Behind all others; this loop comes to it again.
        this.#open.delete(file)
        this.#open.add(file)
        continue
      }
      if (!file.dirty) return this.#close(file)
      dirty ??= file
      if (++seen >= LOOK_FOR_CLEAN) break
      this.#open.delete(file)
      this.#open.add(file)
    }
    return dirty !== undefined && this.#close(dirty)
  }

  #close(file: OpenableFile): boolean {
    this.#fileSystem.closeFileNow(this.release(file) as FileId)
    return true
  }
}
