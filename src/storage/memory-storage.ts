/**
 * The storage port in memory: files are lists of chunks, so that nothing that was handed out ever moves or changes. It
 * keeps no more than a stated number of bytes and refuses the rest, rather than letting the process die (decision 14 of
 * the architecture). It survives nothing but `close()`: what was written can be opened again while the object lives.
 */

import { assert } from '../util/assert.ts'
import { totalLength } from '../util/byte-writer.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'
import { MemoryFile } from './memory-file.ts'
import { MemoryMeter } from './memory-meter.ts'
import {
  type AppendOptions,
  type OpenOptions,
  type Storage,
  StorageError,
  type StorageFailure,
  type StorageFile,
  type StorageUsage,
} from './storage.ts'

type MemoryNode = MemoryFile | Directory
type Directory = Map<string, MemoryNode>

export interface MemoryStorageOptions {
  turns: Turns
  /** How many bytes all files may take together, counted in whole chunks; no limit by default. */
  maxBytes?: number
  /** Counts for several storages, such as those of all brokers of a process; instead of `maxBytes`. */
  meter?: MemoryMeter
}

/**
 * {@link Storage} in memory.
 *
 * @example
 * const storage = new MemoryStorage({ turns: env.turns, maxBytes: 256 * 1024 * 1024 })
 * storage.open('orders-0/00000000000000000000.log', { create: true }).appendv([bytes])
 */
export class MemoryStorage implements Storage {
  readonly isVolatile = true
  readonly #turns: Turns
  readonly #root: Directory = new Map()
  readonly #meter: MemoryMeter
  #locked = false

  constructor(options: MemoryStorageOptions) {
    this.#turns = options.turns
    this.#meter = options.meter ?? new MemoryMeter(options.maxBytes)
  }

  /** Bytes taken by the chunks of all files, used or not. */
  get usedBytes(): number {
    return this.#meter.used
  }

  get maxBytes(): number {
    return this.#meter.max
  }

  open(path: string, options: OpenOptions = {}): StorageFile {
    let node = this.#find(path)
    if (node === undefined) {
      if (!options.create) throw new StorageError('NOT_FOUND', `no such file: ${path}`)
      node = new MemoryFile(this.#meter, options)
      this.#put(path, node)
    }
    if (!(node instanceof MemoryFile)) throw new StorageError('IO', `is a directory: ${path}`)
    return new OpenFile(path, node, this.#turns)
  }

  exists(path: string): boolean {
    return this.#find(path) !== undefined
  }

  list(directory: string): string[] {
    const node = directory === '' ? this.#root : this.#find(directory)
    return node instanceof Map ? [...node.keys()].sort() : []
  }

  remove(path: string): Later<StorageFailure | undefined> {
    const node = this.#find(path)
    if (node !== undefined) {
      unlink(node)
      this.#parent(path)?.delete(baseName(path))
    }
    return this.#done()
  }

  rename(from: string, to: string): void {
    const node = this.#find(from)
    if (node === undefined) throw new StorageError('NOT_FOUND', `no such file or directory: ${from}`)
    if (from === to) return
    if (to.startsWith(`${from}/`)) throw new StorageError('IO', `cannot move ${from} into itself`)
    const target = this.#find(to)
    if (target instanceof Map) throw new StorageError('IO', `there is a directory already: ${to}`)
    if (target !== undefined) unlink(target)
    this.#parent(from)?.delete(baseName(from))
    this.#put(to, node)
  }

  replace(path: string, bytes: Uint8Array): Later<StorageFailure | undefined> {
    const old = this.#find(path)
    if (old instanceof Map) return this.#failed('IO', `is a directory: ${path}`)
    const file = new MemoryFile(this.#meter)
    try {
      file.fill(bytes)
    } catch (error) {
      if (error instanceof StorageError) return this.#failed(error.code, error.message)
      throw error
    }
    old?.unlink()
    this.#put(path, file)
    return this.#done()
  }

  syncDirectory(): Later<StorageFailure | undefined> {
    return this.#done()
  }

  lock(): Later<StorageFailure | undefined> {
    if (this.#locked) return this.#failed('LOCKED', 'the storage is in use')
    this.#locked = true
    return this.#done()
  }

  /** A storage of its own that begins with what this one holds now. No byte is copied: the two share what was written. */
  fork(): MemoryStorage {
    const fork = new MemoryStorage({ turns: this.#turns, maxBytes: this.#meter.max })
    copyDirectory(this.#root, fork.#root, fork.#meter)
    return fork
  }

  /** Holds from now on what another one holds, which goes on by itself, or nothing. Nobody may be at work on it. */
  become(other?: MemoryStorage): void {
    unlink(this.#root)
    this.#root.clear()
    if (other !== undefined) copyDirectory(other.#root, this.#root, this.#meter)
  }

  usage(): StorageUsage {
    const totalBytes = Math.min(this.#meter.max, Number.MAX_SAFE_INTEGER)
    return { path: '/memory', totalBytes, usableBytes: Math.max(0, totalBytes - this.#meter.used) }
  }

  close(): Later<StorageFailure | undefined> {
    this.#locked = false
    return this.#done()
  }

  #find(path: string): MemoryNode | undefined {
    return this.#parent(path)?.get(baseName(path))
  }

  /** The directory that a path lies in, made with all above it if `create` says so. */
  #parent(path: string, create = false): Directory | undefined {
    const names = path.split('/')
    assert(!names.some(name => name === '' || name === '..' || name === '.'), `bad path: ${path}`)
    let directory = this.#root
    for (const name of names.slice(0, -1)) {
      let next = directory.get(name)
      if (next === undefined) {
        if (!create) return undefined
        directory.set(name, (next = new Map()))
      }
      if (next instanceof MemoryFile) {
        if (!create) return undefined
        throw new StorageError('IO', `is no directory: ${name} in ${path}`)
      }
      directory = next
    }
    return directory
  }

  #put(path: string, node: MemoryNode): void {
    this.#parent(path, true)?.set(baseName(path), node)
  }

  #done(): Later<StorageFailure | undefined> {
    return Later.of<StorageFailure | undefined>(this.#turns, undefined)
  }

  #failed(code: StorageFailure['code'], message: string): Later<StorageFailure | undefined> {
    return Later.of<StorageFailure | undefined>(this.#turns, { code, message })
  }
}

/** A handle on a file: it goes on reading the same bytes when the file is renamed, replaced or removed. */
class OpenFile implements StorageFile {
  readonly path: string
  readonly #file: MemoryFile
  readonly #turns: Turns

  constructor(path: string, file: MemoryFile, turns: Turns) {
    this.path = path
    this.#file = file
    this.#turns = turns
  }

  get size(): number {
    return this.#file.size
  }

  get modifiedMs(): number | undefined {
    return this.#file.modifiedMs
  }

  setModified(modifiedMs: number): void {
    this.#file.modifiedMs = modifiedMs
  }

  appendv(parts: readonly Uint8Array[], options?: AppendOptions): void {
    const [part] = parts
    if (options?.immutable && parts.length === 1) this.#file.share(part)
    else this.#file.append(parts, totalLength(parts))
    if (options?.nowMs !== undefined) this.#file.modifiedMs = options.nowMs
  }

  readInto(position: number, target: Uint8Array): number {
    return this.#file.readInto(position, target)
  }

  read(position: number, length: number): Uint8Array[] {
    return this.#file.read(position, length)
  }

  writeAt(position: number, bytes: Uint8Array): void {
    assert(position >= 0 && position + bytes.length <= this.#file.size, `writeAt beyond the end of ${this.path}`)
    this.#file.writeAt(position, bytes)
  }

  truncate(size: number): void {
    assert(size >= 0 && size <= this.#file.size, `truncate beyond the end of ${this.path}`)
    this.#file.truncate(size)
  }

  flush(): Later<StorageFailure | undefined> {
    return Later.of<StorageFailure | undefined>(this.#turns, undefined)
  }

  close(): Later<StorageFailure | undefined> {
    return Later.of<StorageFailure | undefined>(this.#turns, undefined)
  }
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function copyDirectory(from: Directory, to: Directory, meter: MemoryMeter): void {
  for (const [name, node] of from) {
    if (node instanceof MemoryFile) {
      to.set(name, node.fork(meter))
    } else {
      const directory: Directory = new Map()
      copyDirectory(node, directory, meter)
      to.set(name, directory)
    }
  }
}

function unlink(node: MemoryNode): void {
  if (node instanceof MemoryFile) node.unlink()
  else for (const child of node.values()) unlink(child)
}
