/**
 * A simulated disk one of whose calls fails, by its number: with EIO that one alone, with ENOSPC from then on all that need room, until
 * somebody makes some, and on a disk that is broken all of them, until it is mended. It counts the calls, so that each of a workload can be the one. The rest is simulated-file-system.ts.
 */

import { type FileId, FileSystemError, type FileSystemFailure } from '../../src/storage/file-system.ts'
import type { Env } from '../../src/util/env.ts'
import { Later } from '../../src/util/later.ts'
import type { SimulatedDisk } from '../sim/simulated-disk.ts'
import { SimulatedFileSystem } from '../sim/simulated-file-system.ts'

export type Fault = 'full' | 'once' | 'broken'

/** Which call fails; outlives the processes that run on the disk. */
export class Failure {
  readonly fault: Fault
  /** Calls that could have failed so far. */
  count = 0
  readonly #failing: number
  #goesOn = false
  /** The call that failed first. */
  hit: string | undefined

  /** @param failing the number of the call that fails; with Infinity none does, and the calls are counted */
  constructor(fault: Fault, failing: number) {
    this.fault = fault
    this.#failing = failing
  }

  /** Somebody removed other files, or put in another disk. */
  mend(): void {
    this.#goesOn = false
  }

  /** Whether calls fail since an earlier one did. */
  get goesOn(): boolean {
    return this.#goesOn
  }

  /** Whether a call fails now. */
  strikes(what: string, needsRoom: boolean): boolean {
    if (this.fault === 'full' && !needsRoom) return false
    const strikes = this.count++ === this.#failing
    if (strikes) {
      this.hit = what
      this.#goesOn = this.fault !== 'once'
    }
    return strikes || this.#goesOn
  }

  error(what: string): FileSystemError {
    return new FileSystemError(this.fault === 'full' ? 'ENOSPC' : 'EIO', what)
  }
}

export class FailingFileSystem extends SimulatedFileSystem {
  readonly #failure: Failure
  readonly #env: Env
  readonly #paths = new Map<FileId, string>()

  constructor(disk: SimulatedDisk, env: Env, failure: Failure) {
    super(disk, env)
    this.#env = env
    this.#failure = failure
  }

  #check(what: string, needsRoom: boolean): void {
    if (this.#failure.strikes(what, needsRoom)) throw this.#failure.error(what)
  }

  override openFile(path: string, options: { create: boolean }): FileId {
    const isNew = options.create && this.status(path) === undefined
    this.#check(`${isNew ? 'create' : 'open'} ${path}`, isNew)
    const file = super.openFile(path, options)
    this.#paths.set(file, path)
    return file
  }

  override readAt(file: FileId, position: number, target: Uint8Array): number {
    this.#check(`read ${this.#paths.get(file)}`, false)
    return super.readAt(file, position, target)
  }

  override writevAt(file: FileId, position: number, parts: readonly Uint8Array[]): number {
    const what = `write ${this.#paths.get(file)}`
    const { goesOn } = this.#failure
    if (!this.#failure.strikes(what, true)) return super.writevAt(file, position, parts)
    // The call that fills the disk, or breaks it, may have done a part of its work before.
    const [first] = parts
    if (!goesOn && first.length > 1) super.writevAt(file, position, [first.subarray(0, first.length >> 1)])
    throw this.#failure.error(what)
  }

  override truncate(file: FileId, size: number): void {
    this.#check(`truncate ${this.#paths.get(file)}`, false)
    super.truncate(file, size)
  }

  override makeDirectory(path: string): void {
    this.#check(`mkdir ${path}`, true)
    super.makeDirectory(path)
  }

  override rename(from: string, to: string): void {
    // The directory may have to grow.
    this.#check(`rename ${from} to ${to}`, true)
    super.rename(from, to)
  }

  override removeDirectory(path: string): void {
    this.#check(`rmdir ${path}`, false)
    super.removeDirectory(path)
  }

  override unlink(path: string): Later<FileSystemFailure | undefined> {
    return this.#failing(`unlink ${path}`) ?? super.unlink(path)
  }

  override syncFile(file: FileId): Later<FileSystemFailure | undefined> {
    return this.#failing(`sync ${this.#paths.get(file)}`) ?? super.syncFile(file)
  }

  override syncDirectory(path: string): Later<FileSystemFailure | undefined> {
    return this.#failing(`sync directory ${path}`) ?? super.syncDirectory(path)
  }

  #failing(what: string): Later<FileSystemFailure | undefined> | undefined {
    if (!this.#failure.strikes(what, false)) return undefined
    const failed = new Later<FileSystemFailure | undefined>(this.#env.turns)
    this.#env.timer(1, () => failed.settle(this.#failure.error(what)))
    return failed
  }
}
