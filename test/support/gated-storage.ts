// A storage in memory that outlives the process, as a disk does, and whose flushes, writes and reads obey the test.

import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import {
  type AppendOptions,
  type OpenOptions,
  StorageError,
  type StorageErrorCode,
  type StorageFailure,
  type StorageFile,
} from '../../src/storage/storage.ts'
import { Later } from '../../src/util/later.ts'
import type { Turns } from '../../src/util/turns.ts'

interface PendingFlush {
  readonly path: string
  /** Ends it, by itself or with a failure. */
  end(failure?: StorageFailure): void
}

export class GatedStorage extends MemoryStorage {
  override readonly isVolatile = false as unknown as true
  readonly #turns: Turns
  /** Flushes of files whose path matches are held until the test ends them. */
  holds: RegExp | undefined
  /** Writes to, and reads of, files whose path matches fail. */
  failsToWrite: RegExp | undefined
  /** What they fail with. */
  writeError: StorageErrorCode = 'IO'
  failsToRead: RegExp | undefined
  readonly held: PendingFlush[] = []
  /** The paths of files that were flushed, and of those that were read, in order. */
  readonly flushed: string[] = []
  readonly read: string[] = []

  constructor(turns: Turns) {
    super({ turns })
    this.#turns = turns
  }

  override open(path: string, options?: OpenOptions): StorageFile {
    return new GatedFile(super.open(path, options), this)
  }

  flush(file: StorageFile): Later<StorageFailure | undefined> {
    this.flushed.push(file.path)
    if (!this.holds?.test(file.path)) return file.flush()
    const later = new Later<StorageFailure | undefined>(this.#turns)
    const flush = {
      path: file.path,
      end: (failure?: StorageFailure) => {
        this.held.splice(this.held.indexOf(flush), 1)
        later.settle(failure)
        this.#turns.drain()
      },
    }
    this.held.push(flush)
    return later
  }
}

class GatedFile implements StorageFile {
  readonly path: string
  readonly #file: StorageFile
  readonly #storage: GatedStorage

  constructor(file: StorageFile, storage: GatedStorage) {
    this.path = file.path
    this.#file = file
    this.#storage = storage
  }

  get size(): number {
    return this.#file.size
  }

  get modifiedMs(): number | undefined {
    return this.#file.modifiedMs
  }

  setModified(modifiedMs: number): void {
    this.#file.setModified(modifiedMs)
  }

  appendv(parts: readonly Uint8Array[], options?: AppendOptions): void {
    this.#check(this.#storage.failsToWrite, 'written', this.#storage.writeError)
    this.#file.appendv(parts, options)
  }

  readInto(position: number, target: Uint8Array): number {
    this.#check(this.#storage.failsToRead, 'read')
    this.#storage.read.push(this.path)
    return this.#file.readInto(position, target)
  }

  read(position: number, length: number): Uint8Array[] {
    this.#check(this.#storage.failsToRead, 'read')
    this.#storage.read.push(this.path)
    return this.#file.read(position, length)
  }

  writeAt(position: number, bytes: Uint8Array): void {
    this.#file.writeAt(position, bytes)
  }

  truncate(size: number): void {
    this.#file.truncate(size)
  }

  flush(): Later<StorageFailure | undefined> {
    return this.#storage.flush(this.#file)
  }

  close(): Later<StorageFailure | undefined> {
    return this.#file.close()
  }

  #check(pattern: RegExp | undefined, what: string, code: StorageErrorCode = 'IO'): void {
    if (pattern?.test(this.path)) throw new StorageError(code, `${this.path} cannot be ${what}`)
  }
}
