/**
 * The file system port in memory, with all that a real one does to those who trust it: what was not synced is lost with the
 * power, writes are short, writes and syncs fail, the disk is full, bits turn over. One object for each process that runs on the
 * disk, which outlives them. Times of asynchronous calls and all faults come from chance.
 */

import {
  type DirectoryEntry,
  type FileId,
  type FileStatus,
  type FileSystem,
  FileSystemError,
  type FileSystemFailure,
} from '../../src/storage/file-system.ts'
import type { Env } from '../../src/util/env.ts'
import { Later } from '../../src/util/later.ts'
import { DirectoryNode, FileNode, type Node } from './disk-nodes.ts'
import type { SimulatedDisk } from './simulated-disk.ts'

type Outcome = FileSystemFailure | undefined

const TOTAL_BYTES = 1 << 30

function fault(code: string, message: string): FileSystemError {
  return new FileSystemError(code, message)
}

export class SimulatedFileSystem implements FileSystem {
  readonly path = '/simulated'
  readonly #disk: SimulatedDisk
  readonly #env: Env
  readonly #open = new Map<FileId, { file: FileNode; path: string }>()
  #nextId = 3

  constructor(disk: SimulatedDisk, env: Env) {
    this.#disk = disk
    this.#env = env
  }

  /** How many files are open. */
  get openFiles(): number {
    return this.#open.size
  }

  openFile(path: string, { create }: { create: boolean }): FileId {
    const { directory, name } = this.#parent(path)
    let node = directory.entries.get(name)
    if (node === undefined) {
      if (!create) throw fault('ENOENT', `open ${path}`)
      if (this.#disk.fails('full')) throw fault('ENOSPC', `open ${path}`)
      this.#changing(`open ${path}`)
      node = new FileNode()
      DirectoryNode.change({ directory, name, node })
    }
    if (!(node instanceof FileNode)) throw fault('EISDIR', `open ${path}`)
    const id = this.#nextId++
    this.#open.set(id, { file: node, path })
    return id
  }

  #file(id: FileId, what: string): { file: FileNode; path: string } {
    const open = this.#open.get(id)
    if (open === undefined) throw fault('EBADF', `${what} ${id}`)
    return open
  }

  fileSize(id: FileId): number {
    return this.#file(id, 'size').file.size
  }

  readAt(id: FileId, position: number, target: Uint8Array): number {
    const { file, path } = this.#file(id, 'read')
    if (this.#disk.fails('readFails')) throw fault('EIO', `read ${path}`)
    const count = Math.max(0, Math.min(target.length, file.size - position))
    target.set(file.bytes.subarray(position, position + count))
    if (count > 0 && this.#disk.fails('readFlips')) {
      target[this.#disk.chance.below(count)] ^= 1 << this.#disk.chance.below(8)
    }
    return count
  }

  writevAt(id: FileId, position: number, parts: readonly Uint8Array[]): number {
    const { file, path } = this.#file(id, 'write')
    const bytes = joined(parts)
    const grows = position + bytes.length > file.size
    if (grows && this.#disk.fails('full')) {
      const room = this.#disk.chance.maybe(0.5) ? 0 : this.#disk.chance.below(bytes.length)
      if (room === 0) throw fault('ENOSPC', `write ${path}`)
      file.write(position, bytes.subarray(0, room))
      return room
    }
    this.#disk.changing(() => file.write(position, bytes.subarray(0, this.#disk.chance.below(bytes.length + 1))))
    if (this.#disk.fails('writeFails')) throw fault('EIO', `write ${path}`)
    const count =
      bytes.length > 1 && this.#disk.fails('writeIsShort') ? this.#disk.chance.between(1, bytes.length) : bytes.length
    file.write(position, bytes.subarray(0, count))
    return count
  }

  truncate(id: FileId, size: number): void {
    const { file, path } = this.#file(id, 'truncate')
    this.#changing(`truncate ${path}`)
    file.truncate(size)
  }

  syncFile(id: FileId): Later<Outcome> {
    const { file, path } = this.#file(id, 'sync')
    const { mark } = file
    this.#disk.changing()
    const fails = mark.length > 0 && this.#disk.fails('syncFails')
    return this.#soon(1, 15, () => {
      if (fails) {
        file.syncFailed(mark)
        this.#disk.hasGivenUp = true
        return fault('EIO', `sync ${path}`)
      }
      file.synced(mark)
      return undefined
    })
  }

  closeFile(id: FileId): Later<Outcome> {
    this.closeFileNow(id)
    return this.#soon(0, 2, () => undefined)
  }

  closeFileNow(id: FileId): void {
    this.#file(id, 'close')
    this.#open.delete(id)
  }

  status(path: string): FileStatus | undefined {
    const node = this.#find(path)
    if (node === undefined) return undefined
    return node instanceof FileNode ? { isDirectory: false, size: node.size } : { isDirectory: true, size: 4096 }
  }

  list(path: string): DirectoryEntry[] {
    const entries = [...this.#directory(path).entries].map(([name, node]) => ({
      name,
      isDirectory: node instanceof DirectoryNode,
    }))
    return this.#disk.chance.shuffled(entries)
  }

  makeDirectory(path: string): void {
    const { directory, name } = this.#parent(path)
    if (name === '' || directory.entries.has(name)) throw fault('EEXIST', `mkdir ${path}`)
    if (this.#disk.fails('full')) throw fault('ENOSPC', `mkdir ${path}`)
    this.#changing(`mkdir ${path}`)
    DirectoryNode.change({ directory, name, node: new DirectoryNode() })
  }

  rename(from: string, to: string): void {
    const source = this.#parent(from)
    const target = this.#parent(to)
    const node = source.directory.entries.get(source.name)
    if (node === undefined) throw fault('ENOENT', `rename ${from}`)
    const present = target.directory.entries.get(target.name)
    if (present === node) return
    if (present instanceof DirectoryNode && node instanceof FileNode) throw fault('EISDIR', `rename ${to}`)
    if (present instanceof FileNode && node instanceof DirectoryNode) throw fault('ENOTDIR', `rename ${to}`)
    if (present instanceof DirectoryNode && present.entries.size > 0) throw fault('ENOTEMPTY', `rename ${to}`)
    this.#changing(`rename ${from}`)
    DirectoryNode.change({ ...source, node: undefined }, { ...target, node })
  }

  unlink(path: string): Later<Outcome> {
    const { directory, name } = this.#parent(path)
    const node = directory.entries.get(name)
    if (node === undefined) return this.#soon(0, 0, () => fault('ENOENT', `unlink ${path}`))
    if (node instanceof DirectoryNode) return this.#soon(0, 0, () => fault('EISDIR', `unlink ${path}`))
    const gone = () => {
      if (directory.entries.get(name) === node) DirectoryNode.change({ directory, name, node: undefined })
      return undefined
    }
    this.#disk.changing()
    // The thread pool may have done it by now, or later.
    if (this.#disk.chance.maybe(0.5)) gone()
    return this.#soon(0, 5, gone)
  }

  removeDirectory(path: string): void {
    const { directory, name } = this.#parent(path)
    const node = this.#directory(path)
    if (node.entries.size > 0) throw fault('ENOTEMPTY', `rmdir ${path}`)
    this.#changing(`rmdir ${path}`)
    DirectoryNode.change({ directory, name, node: undefined })
  }

  syncDirectory(path: string): Later<Outcome> {
    const node = this.#find(path)
    if (!(node instanceof DirectoryNode)) {
      return this.#soon(0, 0, () => fault(node === undefined ? 'ENOENT' : 'ENOTDIR', `sync ${path}`))
    }
    const { mark } = node
    this.#disk.changing()
    const fails = mark.length > 0 && this.#disk.fails('syncFails')
    return this.#soon(1, 10, () => {
      if (fails) return fault('EIO', `sync ${path}`)
      node.synced(mark)
      return undefined
    })
  }

  space(): { totalBytes: number; usableBytes: number } {
    return { totalBytes: TOTAL_BYTES, usableBytes: this.#disk.faults.full ? 0 : TOTAL_BYTES / 2 }
  }

  lock(): Later<Outcome> {
    const isFree = this.#disk.owner === undefined
    if (isFree) this.#disk.owner = this
    return this.#soon(0, 1, () => (isFree ? undefined : fault('ELOCKED', this.path)))
  }

  unlock(): Later<Outcome> {
    if (this.#disk.owner === this) this.#disk.owner = undefined
    return this.#soon(0, 1, () => undefined)
  }

  allocate(length: number): Uint8Array {
    return new Uint8Array(length).fill(0xaa)
  }

  /** A change of names or sizes that may fail. */
  #changing(what: string): void {
    this.#disk.changing()
    if (this.#disk.fails('writeFails')) throw fault('EIO', what)
  }

  #soon(least: number, most: number, run: () => Outcome): Later<Outcome> {
    const later = new Later<Outcome>(this.#env.turns)
    const delay = this.#disk.chance.between(least, most)
    this.#env.timer(delay, () => later.settle(run()))
    return later
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#disk.root
    for (const name of namesOf(path)) {
      if (!(node instanceof DirectoryNode)) return undefined
      node = node.entries.get(name)
    }
    return node
  }

  #directory(path: string): DirectoryNode {
    const node = this.#find(path)
    if (node instanceof DirectoryNode) return node
    throw fault(node === undefined ? 'ENOENT' : 'ENOTDIR', path)
  }

  #parent(path: string): { directory: DirectoryNode; name: string } {
    const names = namesOf(path)
    const name = names.pop() ?? ''
    return { directory: this.#directory(names.join('/')), name }
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter(name => name !== '')
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
