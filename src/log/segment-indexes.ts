/**
 * The indexes of one segment and their files. The offset and the time index are read when they are first needed, and may be
 * dropped again once they are in their files; without files (in memory mode) whoever needs them makes them from the segment. The
 * transaction index has no other source that is near, so it has a file in every mode, if there is anything in it.
 */

import { int32At, int64At } from '../records/fields.ts'
import { readWhole } from '../storage/read-whole.ts'
import { type Storage, StorageError, type StorageFailure, type StorageFile } from '../storage/storage.ts'
import { allOf } from '../storage/syncs.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { EntryBytes } from './entry-bytes.ts'
import type { CachedIndexes, IndexCache } from './index-cache.ts'

import { OFFSET_ENTRY_BYTES, OffsetIndex } from './offset-index.ts'
import {
  fileName,
  OFFSET_INDEX_SUFFIX,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
  withFile,
} from './segment-files.ts'
import { TIME_ENTRY_BYTES, TimeIndex } from './time-index.ts'
import { TransactionIndex } from './transaction-index.ts'

/** The two indexes by which positions are found. */
export interface PositionIndexes {
  readonly offsets: OffsetIndex
  readonly times: TimeIndex
}

/** One of the indexes that are in memory, and its file. */
interface Part {
  readonly suffix: string
  readonly entries: EntryBytes
  readonly name: 'offsets' | 'times' | 'aborted'
}

export interface SegmentIndexesOptions {
  storage: Storage
  env: Env
  /** The path of the segment's files without their suffix. */
  directory: string
  baseOffset: number
  /** True when the segment is new: then it has no files yet, and what lies under their names is of no use. */
  isNew: boolean
  cache?: IndexCache
}

export class SegmentIndexes implements CachedIndexes {
  readonly #storage: Storage
  readonly #env: Env
  readonly #baseOffset: number
  readonly #cache: IndexCache | undefined
  readonly #directory: string
  #loaded: PositionIndexes | undefined
  #aborted: TransactionIndex | undefined
  /** How many entries of each are in its file already. */
  readonly #written = { offsets: 0, times: 0, aborted: 0 }
  #isDurable = false
  recentlyUsed = false

  constructor(options: SegmentIndexesOptions) {
    this.#storage = options.storage
    this.#env = options.env
    this.#baseOffset = options.baseOffset
    this.#directory = options.directory
    this.#cache = options.cache
    if (options.isNew) {
      this.#loaded = this.#empty()
      this.#aborted = new TransactionIndex()
    }
  }

  /** Offset and time index, if they are in memory. */
  get loaded(): PositionIndexes | undefined {
    this.recentlyUsed = true
    return this.#loaded
  }

  /** Reads offset and time index. Undefined when there are no files, or none that can be right. */
  load(): PositionIndexes | undefined {
    if (this.#storage.isVolatile) return undefined
    const offsets = readWhole(this.#storage, this.#path(OFFSET_INDEX_SUFFIX))
    const times = readWhole(this.#storage, this.#path(TIME_INDEX_SUFFIX))
    if (offsets === undefined || times === undefined) return undefined
    if (offsets.length % OFFSET_ENTRY_BYTES !== 0 || times.length % TIME_ENTRY_BYTES !== 0) return undefined
    this.#loaded = {
      offsets: new OffsetIndex(this.#baseOffset, offsets),
      times: new TimeIndex(this.#baseOffset, times),
    }
    this.#written.offsets = this.#loaded.offsets.entries.count
    this.#written.times = this.#loaded.times.entries.count
    this.#isDurable = true
    this.#cache?.add(this)
    return this.#loaded
  }

  /** The last entry of the time index, read by itself: [time, offset]. Undefined without a file, empty for an empty one. */
  lastTime(): [number, number] | [] | undefined {
    const path = this.#path(TIME_INDEX_SUFFIX)
    if (this.#storage.isVolatile || !this.#storage.exists(path)) return undefined
    return withFile(this.#storage, path, file => {
      if (file.size === 0) return []
      if (file.size % TIME_ENTRY_BYTES !== 0) return undefined
      const entry = new Uint8Array(TIME_ENTRY_BYTES)
      if (file.readInto(file.size - TIME_ENTRY_BYTES, entry) < TIME_ENTRY_BYTES) return undefined
      const [timestamp, relative] = [int64At(entry, 0), int32At(entry, 8)]
      // Kafka makes its files long and fills them from the begin: zeros are left where it was killed.
      if (relative < 0 || (timestamp <= 0 && file.size > TIME_ENTRY_BYTES)) return undefined
      return [timestamp, this.#baseOffset + relative]
    })
  }

  /** Begins offset and time index anew, for whoever makes them from the segment. */
  reset(): PositionIndexes {
    this.#loaded = this.#empty()
    this.#written.offsets = 0
    this.#written.times = 0
    this.#isDurable = false
    return this.#loaded
  }

  /** Says that the files were of no use. */
  noteRemade(): void {
    if (this.#storage.isVolatile) return
    const path = this.#path(OFFSET_INDEX_SUFFIX)
    this.#env.log('info', 'an index was missing or broken and was made again from its segment', { path })
  }

  /** The segment is written to no more: what is in files may be dropped from memory. */
  retire(): void {
    if (this.#loaded !== undefined && this.#isDurable) this.#cache?.add(this)
  }

  /** The transaction index. */
  get aborted(): TransactionIndex {
    if (this.#aborted === undefined) {
      this.#aborted = new TransactionIndex(readWhole(this.#storage, this.#path(TRANSACTION_INDEX_SUFFIX)))
      this.#written.aborted = this.#aborted.entries.count
    }
    return this.#aborted
  }

  /** Drops what is about `offset` and later, from the files too. */
  truncateTo(offset: number): void {
    this.#cache?.remove(this)
    this.#loaded?.offsets.truncateTo(offset)
    this.#loaded?.times.truncateTo(offset)
    this.aborted.truncateTo(offset)
    this.#isDurable = false
    for (const { suffix, entries, name } of this.#parts()) {
      if (this.#written[name] <= entries.count) continue
      this.#written[name] = entries.count
      const path = this.#path(suffix)
      if (this.#storage.exists(path))
        withFile(this.#storage, path, file => cut(file, entries.count * entries.entrySize))
    }
  }

  /** Writes what is not in the files yet. Settles once it would survive a power cut. */
  write(): Later<StorageFailure | undefined> {
    const { turns } = this.#env
    const flushes: Later<StorageFailure | undefined>[] = []
    const hasPositions = this.#loaded !== undefined
    try {
      for (const part of this.#parts()) {
        const isEmpty = part.entries.count === 0
        if (part.name === 'aborted' ? isEmpty : this.#storage.isVolatile) continue
        flushes.push(this.#writePart(part))
      }
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      return Later.of<StorageFailure | undefined>(turns, { code: error.code, message: error.message })
    }
    return allOf(turns, flushes).map(failure => {
      if (hasPositions && failure === undefined) this.#isDurable = true
      return failure
    })
  }

  #writePart({ suffix, entries, name }: Part): Later<StorageFailure | undefined> {
    const file = this.#storage.open(this.#path(suffix), { create: true, exempt: true })
    try {
      // Whatever else there is in the file was left by somebody else.
      const from = file.size < this.#written[name] * entries.entrySize ? 0 : this.#written[name]
      cut(file, from * entries.entrySize)
      file.appendv([entries.from(from)])
      this.#written[name] = entries.count
      return file.flush()
    } finally {
      // A file that is closed still finishes its flush.
      file.close()
    }
  }

  get sizeInBytes(): number {
    return (this.#loaded?.offsets.entries.bytes.length ?? 0) + (this.#loaded?.times.entries.bytes.length ?? 0)
  }

  unload(): boolean {
    const loaded = this.#loaded
    if (loaded === undefined) return true
    const { offsets, times } = this.#written
    if (!this.#isDurable || offsets < loaded.offsets.entries.count || times < loaded.times.entries.count) return false
    this.#loaded = undefined
    return true
  }

  /** The segment is closed or gone. */
  close(): void {
    this.#cache?.remove(this)
  }

  #empty(): PositionIndexes {
    return { offsets: new OffsetIndex(this.#baseOffset), times: new TimeIndex(this.#baseOffset) }
  }

  #parts(): Part[] {
    const parts: Part[] = []
    if (this.#loaded !== undefined) {
      parts.push({ suffix: OFFSET_INDEX_SUFFIX, entries: this.#loaded.offsets.entries, name: 'offsets' })
      parts.push({ suffix: TIME_INDEX_SUFFIX, entries: this.#loaded.times.entries, name: 'times' })
    }
    if (this.#aborted !== undefined) {
      parts.push({ suffix: TRANSACTION_INDEX_SUFFIX, entries: this.#aborted.entries, name: 'aborted' })
    }
    return parts
  }

  #path(suffix: string): string {
    return `${this.#directory}/${fileName(this.#baseOffset, suffix)}`
  }
}

function cut(file: StorageFile, size: number): void {
  if (file.size > size) file.truncate(size)
}
