/**
 * The raw calls of the disk storage by node:fs. What takes microseconds is synchronous: a read from the page cache by promise
 * costs ten times as much. What may take long (syncing, closing, unlinking) runs on Node's thread pool, and its end comes in as
 * an event of the Env, so that the turns which follow from it run. The logic is in storage/disk-storage.ts.
 */
import fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DirectoryEntry, FileId, FileStatus, FileSystem, FileSystemFailure } from '../storage/file-system.ts'
import { Later } from '../util/later.ts'
import { DirectoryLock } from './directory-lock.ts'
import type { SystemEnv } from './system-env.ts'

const SLAB = 256 * 1024
const LARGEST_CUT = 32 * 1024

type Result = FileSystemFailure | undefined

/** Opening a directory to sync it is tried this often when there are no descriptors left, with such a pause between. */
const OPEN_TRIES = 100
const OPEN_PAUSE_MS = 20

export class NodeFileSystem implements FileSystem {
  readonly path: string
  readonly #env: SystemEnv
  readonly #lock: DirectoryLock
  readonly #readOnly: boolean
  /** What small arrays are cut from; it lives as long as somebody holds a part of it. */
  #slab = new ArrayBuffer(0)
  #slabUsed = SLAB

  /**
   * Makes the root directory when it is not there. Throws Node's own error when it cannot be.
   *
   * @param options.readOnly makes and changes nothing: the root has to be there
   */
  constructor(env: SystemEnv, root: string, { readOnly = false }: { readOnly?: boolean } = {}) {
    this.#env = env
    this.#readOnly = readOnly
    this.path = readOnly ? fs.realpathSync(root) : makeRoot(resolve(root))
    this.#lock = new DirectoryLock(this.path)
  }

  openFile(path: string, { create }: { create: boolean }): FileId {
    if (this.#readOnly) return fs.openSync(this.#at(path), fs.constants.O_RDONLY)
    return fs.openSync(this.#at(path), create ? fs.constants.O_RDWR | fs.constants.O_CREAT : fs.constants.O_RDWR, 0o644)
  }

  fileSize(file: FileId): number {
    return fs.fstatSync(file).size
  }

  readAt(file: FileId, position: number, target: Uint8Array): number {
    return fs.readSync(file, target, 0, target.length, position)
  }

  writevAt(file: FileId, position: number, parts: readonly Uint8Array[]): number {
    if (parts.length === 1) return fs.writeSync(file, parts[0], 0, parts[0].length, position)
    return fs.writevSync(file, parts, position)
  }

  truncate(file: FileId, size: number): void {
    fs.ftruncateSync(file, size)
  }

  setModified(file: FileId, modifiedMs: number): void {
    fs.futimesSync(file, modifiedMs / 1000, modifiedMs / 1000)
  }

  syncFile(file: FileId): Later<Result> {
    return this.#later(done => fs.fdatasync(file, done))
  }

  closeFile(file: FileId): Later<Result> {
    return this.#later(done => fs.close(file, done))
  }

  closeFileNow(file: FileId): void {
    fs.closeSync(file)
  }

  status(path: string): FileStatus | undefined {
    try {
      const status = fs.statSync(this.#at(path), { throwIfNoEntry: false })
      return status && { isDirectory: status.isDirectory(), size: status.size, modifiedMs: status.mtimeMs }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
      throw error
    }
  }

  list(directory: string): DirectoryEntry[] {
    const entries = fs.readdirSync(this.#at(directory), { withFileTypes: true })
    return entries.map(entry => ({ name: entry.name, isDirectory: entry.isDirectory() }))
  }

  makeDirectory(path: string): void {
    fs.mkdirSync(this.#at(path))
  }

  rename(from: string, to: string): void {
    fs.renameSync(this.#at(from), this.#at(to))
  }

  unlink(path: string): Later<Result> {
    return this.#later(done => fs.unlink(this.#at(path), done))
  }

  removeDirectory(path: string): void {
    fs.rmdirSync(this.#at(path))
  }

  syncDirectory(path: string): Later<Result> {
    return this.#later(done => syncDirectory(this.#at(path), OPEN_TRIES, done))
  }

  space(): { totalBytes: number; usableBytes: number } {
    const { bsize, blocks, bavail } = fs.statfsSync(this.path)
    return { totalBytes: bsize * blocks, usableBytes: bsize * bavail }
  }

  lock(): Later<Result> {
    return this.#later(done => void this.#lock.acquire().then(done))
  }

  unlock(): Later<Result> {
    return this.#later(done => void this.#lock.release().then(() => done()))
  }

  /**
   * Plain arrays, since `slice` of a Buffer does not copy, and not filled with zeros. Small ones are cut from a slab, each part of it
   * once: that takes a quarter off the CPU time of reads of 16 kB, and more off smaller ones.
   */
  allocate(length: number): Uint8Array {
    if (length > LARGEST_CUT) return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
    if (this.#slabUsed + length > SLAB) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB).buffer
      this.#slabUsed = 0
    }
    const bytes = new Uint8Array(this.#slab, this.#slabUsed, length)
    this.#slabUsed += length
    return bytes
  }

  #at(path: string): string {
    return path === '' ? this.path : `${this.path}/${path}`
  }

  #later(begin: (done: (error?: Error | Result | null) => void) => void): Later<Result> {
    const later = new Later<Result>(this.#env.turns)
    begin(error => this.#env.event(() => later.settle(error ? failureOf(error) : undefined)))
    return later
  }
}

function failureOf(error: Error | FileSystemFailure): FileSystemFailure {
  return { code: (error as NodeJS.ErrnoException).code ?? 'EIO', message: error.message }
}

function syncDirectory(path: string, tries: number, done: (error?: Error | null) => void): void {
  // Windows opens no directories, and writes their entries through.
  if (process.platform === 'win32') return void setImmediate(done)
  fs.open(path, 'r', (openError, directory) => {
    if (openError) {
      // Nothing was tried to be synced yet, so that it may be tried again.
      const isFull = openError.code === 'EMFILE' || openError.code === 'ENFILE'
      if (!isFull || tries === 0) return done(openError)
      return void setTimeout(() => syncDirectory(path, tries - 1, done), OPEN_PAUSE_MS)
    }
    fs.fsync(directory, syncError => fs.close(directory, closeError => done(syncError ?? closeError)))
  })
}

/** The real path of the root, which is made, and synced, with all directories above it that are not there. */
function makeRoot(path: string): string {
  const first = fs.mkdirSync(path, { recursive: true })
  if (first !== undefined && process.platform !== 'win32') {
    for (let made = path; ; made = dirname(made)) {
      syncNow(dirname(made))
      if (made === first || made === dirname(made)) break
    }
  }
  return fs.realpathSync(path)
}

function syncNow(directory: string): void {
  const descriptor = fs.openSync(directory, 'r')
  try {
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}
