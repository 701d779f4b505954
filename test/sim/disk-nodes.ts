/**
 * What lies on a simulated disk, and what of it is only in the page cache. A file has the bytes that everybody sees, the bytes
 * that are on the disk, and the writes between the two; a directory likewise has entries, durable entries, and changes between.
 * A power cut keeps any subset of what was not synced, and tears writes. It knows no calls of a file system: see
 * simulated-disk.ts and simulated-file-system.ts.
 */

import type { Chance } from './chance.ts'

/** Power cuts tear writes at these boundaries. */
const SECTOR_BYTES = 512

type FileChange = { readonly position: number; readonly bytes: Uint8Array } | { readonly size: number }

interface PendingChange {
  readonly change: FileChange
  /** A sync that covered it failed: the system counts it as clean and never writes it again. */
  forgotten: boolean
}

export class FileNode {
  /** What everybody sees. */
  bytes: Uint8Array = new Uint8Array(0)
  size = 0
  /** What is on the disk. Forks share it. */
  #durable: Uint8Array = new Uint8Array(0)
  #pending: PendingChange[] = []

  write(position: number, bytes: Uint8Array): void {
    const change = { position, bytes: bytes.slice() }
    this.#pending.push({ change, forgotten: false })
    const end = position + bytes.length
    if (end > this.bytes.length) this.bytes = resized(this.bytes, Math.max(end, this.bytes.length * 2))
    if (position > this.size) this.bytes.fill(0, this.size, position)
    this.bytes.set(bytes, position)
    this.size = Math.max(this.size, end)
  }

  truncate(size: number): void {
    this.#pending.push({ change: { size }, forgotten: false })
    if (size > this.bytes.length) this.bytes = resized(this.bytes, size)
    if (size > this.size) this.bytes.fill(0, this.size, size)
    this.size = size
  }

  /** What a sync that begins now covers. */
  get mark(): readonly PendingChange[] {
    return this.#pending.filter(({ forgotten }) => !forgotten)
  }

  get isSynced(): boolean {
    return this.#pending.length === 0
  }

  synced(mark: readonly PendingChange[]): void {
    const covered = new Set(mark)
    const changes = this.#pending.filter(pending => covered.has(pending)).map(({ change }) => change)
    this.#durable = applied(this.#durable, changes)
    this.#pending = this.#pending.filter(pending => !covered.has(pending))
  }

  /** A sync failed: what it covered is only in the page cache from now on, though the system believes otherwise. */
  syncFailed(mark: readonly PendingChange[]): void {
    for (const pending of mark) pending.forgotten = true
  }

  /** The page cache is empty: what a failed sync gave up is gone, and whoever opens the file finds what is on the disk. */
  evict(): void {
    if (!this.#pending.some(({ forgotten }) => forgotten)) return
    this.#pending = this.#pending.filter(({ forgotten }) => !forgotten)
    this.bytes = applied(
      this.#durable,
      this.#pending.map(({ change }) => change),
    )
    this.size = this.bytes.length
  }

  /** Keeps of what was not synced what chance lets through. */
  losePower(chance: Chance, survival: number): void {
    const changes: FileChange[] = []
    for (const { change } of this.#pending) {
      if (!chance.maybe(survival)) continue
      changes.push('bytes' in change && chance.maybe(0.3) ? torn(change, chance) : change)
    }
    this.#durable = applied(this.#durable, changes)
    this.#pending = []
    this.bytes = this.#durable.slice()
    this.size = this.bytes.length
  }

  /** Turns over one bit, on the disk and in what everybody sees. */
  flip(position: number, bit: number): void {
    this.bytes[position] ^= 1 << bit
    if (position < this.#durable.length) this.#durable[position] ^= 1 << bit
  }

  fork(): FileNode {
    const copy = new FileNode()
    copy.bytes = this.bytes.slice()
    copy.size = this.size
    copy.#durable = this.#durable
    copy.#pending = this.#pending.map(pending => ({ ...pending }))
    return copy
  }
}

function resized(bytes: Uint8Array, length: number): Uint8Array {
  const result = new Uint8Array(length)
  result.set(bytes.subarray(0, length))
  return result
}

/** What a file holds after changes, always in a new array. */
function applied(bytes: Uint8Array, changes: readonly FileChange[]): Uint8Array {
  const sizeAfter = (size: number, change: FileChange) =>
    'size' in change ? change.size : Math.max(size, change.position + change.bytes.length)
  let size = bytes.length
  let most = size
  for (const change of changes) {
    size = sizeAfter(size, change)
    most = Math.max(most, size)
  }
  const result = new Uint8Array(most)
  result.set(bytes)
  size = bytes.length
  for (const change of changes) {
    if ('bytes' in change) result.set(change.bytes, change.position)
    // What is cut off is not there when the file grows again.
    else result.fill(0, change.size, size)
    size = sizeAfter(size, change)
  }
  return size === most ? result : result.slice(0, size)
}

/** A part of a write: some of its first sectors, or some single one is missing, which then reads as zeros. */
function torn(change: { position: number; bytes: Uint8Array }, chance: Chance): FileChange {
  const { position, bytes } = change
  if (chance.maybe(0.7)) return { position, bytes: bytes.subarray(0, chance.below(bytes.length + 1)) }
  const holed = bytes.slice()
  const sector = chance.below(Math.ceil(bytes.length / SECTOR_BYTES))
  holed.fill(0, sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES)
  return { position, bytes: holed }
}

export type Node = FileNode | DirectoryNode

interface Entry {
  readonly directory: DirectoryNode
  readonly name: string
  /** Undefined where the name goes. */
  readonly node: Node | undefined
}

/** One change of names, whole or not at all. */
export interface EntryChange {
  readonly sequence: number
  readonly entries: readonly Entry[]
}

let lastSequence = 0

export class DirectoryNode {
  entries = new Map<string, Node>()
  #durable = new Map<string, Node>()
  #pending: EntryChange[] = []

  /** Changes names at once, on the disk some time later. */
  static change(...entries: Entry[]): void {
    const change = { sequence: ++lastSequence, entries }
    for (const { directory, name, node } of entries) {
      set(directory.entries, name, node)
      if (directory.#pending.at(-1) !== change) directory.#pending.push(change)
    }
  }

  /** What a sync that begins now covers. */
  get mark(): readonly EntryChange[] {
    return [...this.#pending]
  }

  get isSynced(): boolean {
    return this.#pending.length === 0
  }

  synced(mark: readonly EntryChange[]): void {
    for (const change of mark) if (this.#pending.includes(change)) DirectoryNode.#persist(change)
  }

  /** Brings a change to the disk, and before it what came earlier in the directories that it is about. */
  static #persist(change: EntryChange): void {
    for (const { directory } of change.entries) {
      for (const earlier of directory.#pending) if (earlier.sequence < change.sequence) DirectoryNode.#persist(earlier)
    }
    DirectoryNode.#settle(change, true)
  }

  static #settle(change: EntryChange, survives: boolean): void {
    for (const { directory, name, node } of change.entries) {
      if (survives) set(directory.#durable, name, node)
      directory.#pending = directory.#pending.filter(each => each !== change)
    }
  }

  /** Keeps of the changes that were not synced those that chance lets through, here and below. */
  losePower(chance: Chance, survival: number): void {
    const files = new Set<FileNode>()
    const directories = new Set<DirectoryNode>()
    this.#collect(files, directories)
    const changes = [...new Set([...directories].flatMap(each => each.#pending))]
    for (const change of changes.sort((a, b) => a.sequence - b.sequence)) {
      DirectoryNode.#settle(change, chance.maybe(survival))
    }
    for (const directory of directories) directory.entries = new Map(directory.#durable)
    for (const file of files) file.losePower(chance, survival)
  }

  /** All that can be reached now, or may be after a power cut. */
  #collect(files: Set<FileNode>, directories: Set<DirectoryNode>): void {
    if (directories.has(this)) return
    directories.add(this)
    const changed = this.#pending.flatMap(({ entries }) => entries.flatMap(({ node }) => node ?? []))
    for (const node of [...this.#durable.values(), ...this.entries.values(), ...changed]) {
      if (node instanceof FileNode) files.add(node)
      else node.#collect(files, directories)
    }
  }

  /** A copy of everything below, which goes its own way. */
  fork(): DirectoryNode {
    const files = new Set<FileNode>()
    const directories = new Set<DirectoryNode>()
    this.#collect(files, directories)
    const copies = new Map<Node, Node>()
    for (const file of files) copies.set(file, file.fork())
    for (const directory of directories) copies.set(directory, new DirectoryNode())
    const copyOf = <N extends Node | undefined>(node: N) => (node && copies.get(node)) as N
    const changes = new Map<EntryChange, EntryChange>()
    for (const directory of directories) {
      const copy = copyOf(directory)
      for (const [name, node] of directory.entries) copy.entries.set(name, copyOf(node))
      for (const [name, node] of directory.#durable) copy.#durable.set(name, copyOf(node))
      for (const change of directory.#pending) {
        const known = changes.get(change) ?? {
          sequence: change.sequence,
          entries: change.entries.map(each => ({
            name: each.name,
            directory: copyOf(each.directory) ?? new DirectoryNode(),
            node: copyOf(each.node),
          })),
        }
        changes.set(change, known)
        copy.#pending.push(known)
      }
    }
    return copyOf(this)
  }
}

function set(entries: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node === undefined) entries.delete(name)
  else entries.set(name, node)
}
