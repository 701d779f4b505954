/**
 * What the disk storage knows of one directory: the files and directories of it that are in use, and which of its entries
 * would survive a power cut. A file that was synced is lost all the same when the entry with its name was not, so whoever
 * flushes a file asks here too. What was there before this process began counts as not synced: the one before may have died.
 */

import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'
import type { DiskFile } from './disk-file.ts'
import { storageFailure } from './errno.ts'
import type { FileSystem } from './file-system.ts'
import { allOf, type SyncResult, Syncs } from './syncs.ts'

export class DiskDirectory {
  readonly files = new Map<string, DiskFile>()
  readonly directories = new Map<string, DiskDirectory>()
  parent: DiskDirectory | undefined
  name: string
  /** True once it is gone, with all that was in it. */
  removed = false
  /** Grows with every entry that is made here; a sync covers those that there were when it began. */
  #version = 1
  #syncedVersion = 0
  /** The version of the parent that its own entry came with. */
  entry: number
  readonly #turns: Turns
  readonly #syncs: Syncs

  constructor(
    parent: DiskDirectory | undefined,
    name: string,
    { fileSystem, turns }: { fileSystem: FileSystem; turns: Turns },
  ) {
    this.parent = parent
    this.name = name
    this.entry = parent?.version ?? 0
    this.#turns = turns
    this.#syncs = new Syncs(turns, () => {
      if (this.removed) return Later.of<SyncResult>(turns, undefined)
      const version = this.#version
      return fileSystem.syncDirectory(this.path).map(failure => {
        if (failure === undefined) this.#syncedVersion = version
        // It went while it was synced, and nothing in it has to last.
        else if (this.removed) return undefined
        return failure && storageFailure(failure)
      })
    })
  }

  get path(): string {
    const above = this.parent?.path ?? ''
    return above === '' ? this.name : `${above}/${this.name}`
  }

  pathOf(name: string): string {
    const { path } = this
    return path === '' ? name : `${path}/${name}`
  }

  get version(): number {
    return this.#version
  }

  /** An entry was made, moved or taken away; returns the version that it comes with. */
  changed(): number {
    return ++this.#version
  }

  /** Settles once the entries up to `version` would survive a power cut, and this directory itself. */
  sync(version = this.#version): Later<SyncResult> {
    const wanted: Later<SyncResult>[] = []
    if (version > this.#syncedVersion) wanted.push(this.#syncs.sync())
    // Whose sync failed is not asked again, but has to go on failing.
    if (this.parent !== undefined && !this.removed) wanted.push(this.parent.sync(this.entry))
    if (wanted.length === 1) return wanted[0]
    return allOf(this.#turns, wanted)
  }

  /** Moves it, and with it all that lies in it. */
  moveTo(parent: DiskDirectory, name: string): void {
    this.parent?.directories.delete(this.name)
    this.parent?.changed()
    this.parent = parent
    this.name = name
    this.entry = parent.changed()
    parent.directories.set(name, this)
  }

  /** It is gone: what was open of it has no name any more. */
  remove(): void {
    this.removed = true
    for (const file of this.files.values()) file.lostName()
    for (const directory of this.directories.values()) directory.remove()
    this.files.clear()
    this.directories.clear()
  }
}
