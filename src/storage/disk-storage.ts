/**
 * The storage port on a disk: files of bytes over the raw calls of a file system. Everything that makes them durable is here,
 * and pure, so that the simulator runs it over a disk that loses what was not synced: which entries of directories are still
 * to be synced, whole appends, replacement by rename, and a bounded number of open files.
 */

import { assert } from '../util/assert.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'
import { DiskDirectory } from './disk-directory.ts'
import { type DiskContext, DiskFile, DiskFileHandle } from './disk-file.ts'
import { errnoOf, failureOf, storageError, storageFailure, throwingStorageErrors } from './errno.ts'
import type { FileSystem } from './file-system.ts'
import { OpenFiles } from './open-files.ts'
import { Removals } from './removals.ts'
import { Replacements } from './replacements.ts'
import { type OpenOptions, type Storage, StorageError, type StorageFile, type StorageUsage } from './storage.ts'
import type { SyncResult } from './syncs.ts'

const DEFAULT_MAX_OPEN_FILES = 4000

export interface DiskStorageOptions {
  fileSystem: FileSystem
  turns: Turns
  /** How many files are open at a time; 4000 by default. Others are opened again when they are used. */
  maxOpenFiles?: number
}

/**
 * {@link Storage} on a file system.
 *
 * @example
 * const storage = new DiskStorage({ fileSystem: new NodeFileSystem(env, './data'), turns: env.turns })
 * const file = storage.open('orders-0/00000000000000000000.log', { create: true })
 * file.appendv([bytes])
 * file.flush().whenSettled(failure => failure ?? console.log('on the disk, with its name'))
 */
export class DiskStorage implements Storage {
  readonly isVolatile = false
  readonly #fileSystem: FileSystem
  readonly #turns: Turns
  readonly #openFiles: OpenFiles
  readonly #context: DiskContext
  readonly #root: DiskDirectory
  readonly #replacements: Replacements
  readonly #removals: Removals
  #underWay = 0
  readonly #whenIdle: (() => void)[] = []
  #locked = false

  constructor({ fileSystem, turns, maxOpenFiles = DEFAULT_MAX_OPEN_FILES }: DiskStorageOptions) {
    this.#fileSystem = fileSystem
    this.#turns = turns
    this.#openFiles = new OpenFiles(fileSystem, maxOpenFiles)
    this.#context = { fileSystem, turns, openFiles: this.#openFiles, track: later => this.#track(later) }
    this.#root = new DiskDirectory(undefined, '', this.#context)
    this.#replacements = new Replacements(this.#context, (directory, name) => this.#loseFile(directory, name))
    this.#removals = new Removals(this.#context)
  }

  /** How many files are open now. */
  get openFileCount(): number {
    return this.#openFiles.count
  }

  open(path: string, options: OpenOptions = {}): StorageFile {
    const { parents, name } = namesOf(path)
    let file = this.#find(parents)?.files.get(name)
    if (file === undefined) {
      const status = throwingStorageErrors(() => this.#fileSystem.status(path))
      if (status?.isDirectory) throw new StorageError('IO', `is a directory: ${path}`)
      if (status === undefined && !options.create) throw new StorageError('NOT_FOUND', `no such file: ${path}`)
      const directory = this.#enter(parents)
      const { size = 0, modifiedMs } = status ?? {}
      const place = { directory, name, entry: directory.version, size, modifiedMs }
      file = new DiskFile(this.#context, place)
      if (status === undefined) {
        file.create()
        file.entry = directory.changed()
      }
      directory.files.set(name, file)
    }
    return new DiskFileHandle(path, file, this.#turns, closed => this.#closed(closed))
  }

  exists(path: string): boolean {
    namesOf(path)
    return throwingStorageErrors(() => this.#fileSystem.status(path)) !== undefined
  }

  list(directory: string): string[] {
    try {
      const names = this.#fileSystem.list(directory).map(entry => entry.name)
      return names.filter(name => !this.#removals.has(directory, name)).sort()
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === 'ENOENT' || errno === 'ENOTDIR') return []
      throw storageError(error)
    }
  }

  remove(path: string): Later<SyncResult> {
    const { parents, name } = namesOf(path)
    try {
      const known = this.#find(parents)
      if (known) this.#replacements.removed(known, name)
      const status = this.#fileSystem.status(path)
      if (status === undefined) return Later.of<SyncResult>(this.#turns, undefined)
      const directory = this.#enter(parents)
      const removed = this.#removals.begin(directory, name, status.isDirectory)
      directory.directories.get(name)?.remove()
      directory.directories.delete(name)
      this.#loseFile(directory, name)
      directory.changed()
      return this.#track(removed)
    } catch (error) {
      return Later.of<SyncResult>(this.#turns, failureOf(error))
    }
  }

  rename(from: string, to: string): void {
    const source = namesOf(from)
    const target = namesOf(to)
    const status = throwingStorageErrors(() => this.#fileSystem.status(from))
    if (status === undefined) throw new StorageError('NOT_FOUND', `no such file or directory: ${from}`)
    if (from === to) return
    if (to.startsWith(`${from}/`)) throw new StorageError('IO', `cannot move ${from} into itself`)
    if (throwingStorageErrors(() => this.#fileSystem.status(to))?.isDirectory) {
      throw new StorageError('IO', `there is a directory already: ${to}`)
    }
    const above = this.#enter(source.parents)
    const below = this.#enter(target.parents)
    throwingStorageErrors(() => this.#fileSystem.rename(from, to))
    this.#loseFile(below, target.name)
    above.changed()
    if (status.isDirectory) {
      const directory = above.directories.get(source.name)
      if (directory) directory.moveTo(below, target.name)
      else below.changed()
      return
    }
    const file = above.files.get(source.name)
    const entry = below.changed()
    if (file === undefined) return
    above.files.delete(source.name)
    below.files.set(target.name, file)
    file.directory = below
    file.name = target.name
    file.entry = entry
  }

  replace(path: string, bytes: Uint8Array): Later<SyncResult> {
    const { parents, name } = namesOf(path)
    try {
      if (this.#fileSystem.status(path)?.isDirectory) throw new StorageError('IO', `is a directory: ${path}`)
      return this.#replacements.replace(this.#enter(parents), name, bytes)
    } catch (error) {
      return Later.of<SyncResult>(this.#turns, failureOf(error))
    }
  }

  syncDirectory(path: string): Later<SyncResult> {
    try {
      const directory = path === '' ? this.#root : this.#enter(path.split('/'), false)
      return this.#track(directory.sync())
    } catch (error) {
      return Later.of<SyncResult>(this.#turns, failureOf(error))
    }
  }

  lock(): Later<SyncResult> {
    if (this.#locked) {
      return Later.of<SyncResult>(this.#turns, { code: 'LOCKED', message: 'the storage is locked already' })
    }
    return this.#fileSystem.lock().map(failure => {
      this.#locked = failure === undefined
      return failure && storageFailure(failure)
    })
  }

  usage(): StorageUsage {
    return { path: this.#fileSystem.path, ...throwingStorageErrors(() => this.#fileSystem.space()) }
  }

  /** Closes every file and gives the lock back, once all that is under way has ended. Nothing is synced. */
  close(): Later<SyncResult> {
    const closed = new Later<SyncResult>(this.#turns)
    this.#idle(() => {
      closeFiles(this.#root)
      this.#idle(() => {
        if (!this.#locked) return closed.settle(undefined)
        this.#locked = false
        this.#fileSystem.unlock().whenSettled(failure => closed.settle(failure && storageFailure(failure)))
      })
    })
    return closed
  }

  /** The last handle of a file was closed, perhaps. */
  #closed(file: DiskFile): Later<SyncResult> {
    if (file.handles > 0) return Later.of<SyncResult>(this.#turns, undefined)
    const closing = file.close()
    closing.whenSettled(() => {
      if (file.handles === 0 && file.directory.files.get(file.name) === file) file.directory.files.delete(file.name)
    })
    return closing
  }

  /** What has this name has it no longer. */
  #loseFile(directory: DiskDirectory, name: string): void {
    directory.files.get(name)?.lostName()
    directory.files.delete(name)
  }

  /** The directory, if anything of it is in use. */
  #find(names: readonly string[]): DiskDirectory | undefined {
    let directory: DiskDirectory | undefined = this.#root
    for (const name of names) directory = directory?.directories.get(name)
    return directory
  }

  /** The directory, which is made with all above it if `create` does not say no. */
  #enter(names: readonly string[], create = true): DiskDirectory {
    let directory = this.#root
    for (const name of names) {
      let next = directory.directories.get(name)
      if (next === undefined) {
        this.#makeDirectory(directory.pathOf(name), create)
        // One that was found may have been made by a process that died before it synced its entry.
        directory.changed()
        next = new DiskDirectory(directory, name, this.#context)
        directory.directories.set(name, next)
      }
      directory = next
    }
    return directory
  }

  #makeDirectory(path: string, create: boolean): void {
    const status = throwingStorageErrors(() => this.#fileSystem.status(path))
    if (status?.isDirectory) return
    if (status !== undefined) throw new StorageError('IO', `is no directory: ${path}`)
    if (!create) throw new StorageError('NOT_FOUND', `no such directory: ${path}`)
    throwingStorageErrors(() => this.#fileSystem.makeDirectory(path))
  }

  #track<T>(later: Later<T>): Later<T> {
    this.#underWay++
    later.whenSettled(() => {
      this.#underWay--
      // In turns of their own, for those who waited may have begun something anew.
      if (this.#underWay === 0) for (const run of this.#whenIdle.splice(0)) this.#turns.enqueue(() => this.#idle(run))
    })
    return later
  }

  #idle(run: () => void): void {
    if (this.#underWay === 0) run()
    else this.#whenIdle.push(run)
  }
}

function closeFiles(directory: DiskDirectory): void {
  for (const file of directory.files.values()) file.close()
  directory.files.clear()
  for (const each of directory.directories.values()) closeFiles(each)
}

function namesOf(path: string): { parents: string[]; name: string } {
  const names = path.split('/')
  assert(!names.some(name => name === '' || name === '..' || name === '.'), `bad path: ${path}`)
  const name = names.pop() as string
  return { parents: names, name }
}
