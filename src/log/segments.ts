/**
 * The segments of one log, in order, of which the last is the active one, and their files (Kafka's `LogSegments`). There is always
 * at least one once the log is open.
 */

import { type Storage, StorageError, type StorageFailure, type StorageFile } from '../storage/storage.ts'
import { allOf } from '../storage/syncs.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { IndexCache } from './index-cache.ts'
import type { LogConfig } from './log-config.ts'
import { Segment } from './segment.ts'
import { DELETED_SUFFIX, fileName, LOG_SUFFIX, SEGMENT_SUFFIXES, SWAP_SUFFIX } from './segment-files.ts'
import { SegmentIndexes } from './segment-indexes.ts'

export interface SegmentsOptions {
  storage: Storage
  directory: string
  env: Env
  /** Their files are: see `OpenOptions`. */
  exempt?: boolean
  /** Drops the indexes of old segments from memory when there are too many. */
  indexCache?: IndexCache
}

export class Segments {
  readonly #storage: Storage
  readonly #directory: string
  readonly #env: Env
  readonly #exempt: boolean
  readonly #cache: IndexCache | undefined
  readonly #list: Segment[] = []
  readonly #timers = new Set<Timer>()
  /** Segments that the cleaner wrote and whose file still bears its name. */
  readonly #swaps = new Set<Segment>()
  #changes = 0
  #isClosed = false
  /** The lowest offset at which the log was cut since the cleaner noted one. */
  lowestCut = Number.POSITIVE_INFINITY

  constructor(options: SegmentsOptions) {
    this.#storage = options.storage
    this.#directory = options.directory
    this.#env = options.env
    this.#exempt = options.exempt ?? false
    this.#cache = options.storage.isVolatile ? undefined : options.indexCache
  }

  /** Moves on whenever segments are cut, taken out or closed: what was read of them before may be of no use then. */
  get changes(): number {
    return this.#changes
  }

  /** Notes that they end at `offset` now. */
  wereCut(offset: number): void {
    this.#changes++
    this.lowestCut = Math.min(this.lowestCut, offset)
  }

  /** True until the cleaner has noted at what offset the log was cut. */
  get wasCut(): boolean {
    return this.lowestCut < Number.POSITIVE_INFINITY
  }

  /** True while {@link replace} has not come to its end. */
  get isReplacing(): boolean {
    return this.#swaps.size > 0
  }

  get count(): number {
    return this.#list.length
  }

  get first(): Segment {
    return this.#list[0]
  }

  get active(): Segment {
    return this.#list[this.#list.length - 1]
  }

  at(index: number): Segment {
    return this.#list[index]
  }

  all(): readonly Segment[] {
    return this.#list
  }

  get sizeInBytes(): number {
    let size = 0
    for (const segment of this.#list) size += segment.size
    return size
  }

  /** Puts a segment behind all others: a new one, or one whose files are there. */
  add(baseOffset: number, config: LogConfig, isNew: boolean): Segment {
    const segment = this.open(baseOffset, config, { isNew })
    this.#list.push(segment)
    return segment
  }

  /**
   * Opens the files of a segment, or makes them, without taking it into the log. One whose file has a suffix has no other files
   * until {@link replace} has put it in its place.
   */
  open(baseOffset: number, config: LogConfig, options: { isNew: boolean; suffix?: string }): Segment {
    const { isNew, suffix = '' } = options
    const storage = this.#storage
    const env = this.#env
    const path = this.#path(fileName(baseOffset, LOG_SUFFIX)) + suffix
    const file = storage.open(path, { create: true, exempt: this.#exempt })
    return new Segment(file, baseOffset, {
      now: env.now(),
      indexIntervalBytes: config.indexIntervalBytes,
      indexes: new SegmentIndexes({
        storage,
        env,
        directory: this.#directory,
        baseOffset,
        isNew,
        cache: this.#cache,
      }),
      agesByAppend: env.aheadOfClients,
    })
  }

  /** The index of the segment in which `offset` lies or would lie; 0 for offsets before all. */
  floor(offset: number): number {
    let low = 0
    let high = this.#list.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#list[middle].baseOffset <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  /**
   * The files with batches at or behind `from` and before `to`, and the offset up to which they have everything. A segment that ends at
   * `from` is among them: it may have been cut there.
   */
  filesBetween(from: number, to: number, endOffset: number): { files: StorageFile[]; endOffset: number } {
    const files: StorageFile[] = []
    let index = this.floor(from)
    if (index > 0 && this.#list[index].baseOffset === from) index--
    for (; index < this.#list.length && (files.length === 0 || this.#list[index].baseOffset < to); index++) {
      files.push(this.#list[index].file)
    }
    return { files, endOffset: index < this.#list.length ? this.#list[index].baseOffset : endOffset }
  }

  /** Where each of them begins. */
  baseOffsets(): number[] {
    return this.#list.map(({ baseOffset }) => baseOffset)
  }

  /** Takes out `count` segments from `start` on. Their files go after `delayMs`; readers keep what they hold. */
  remove(start: number, count: number, delayMs: number): void {
    if (count > 0) this.#changes++
    for (const segment of this.#list.splice(start, count)) this.#removeFiles(segment, delayMs)
  }

  /**
   * Puts a segment, whose file ends with `.swap`, in the place of neighbours that it was made from; their files go after `delayMs`,
   * and when that is for good and its indexes are written it gets its name. Settles then. Opening the log finishes what a crash or a
   * failure leaves undone.
   */
  replace(neighbours: readonly Segment[], segment: Segment, delayMs: number): Later<StorageFailure | undefined> {
    this.#changes++
    this.#list.splice(this.#list.indexOf(neighbours[0]), neighbours.length, segment)
    this.#swaps.add(segment)
    for (const each of neighbours) this.#removeFiles(each, delayMs)
    const result = new Later<StorageFailure | undefined>(this.#env.turns)
    // It may be taken out meanwhile, with its file.
    const isWaiting = () => !this.#isClosed && this.#swaps.has(segment)
    this.#storage.syncDirectory(this.#directory).whenSettled(failure => {
      if (failure !== undefined || !isWaiting()) return result.settle(failure)
      // Its indexes are trusted from the moment on at which it has its name.
      segment.writeIndexes().whenSettled(indexFailure => {
        const isDue = indexFailure === undefined && isWaiting()
        result.settle(isDue ? this.#nameSwap(segment) : indexFailure)
      })
    })
    return result
  }

  /** A segment that took the place of others gets its name. */
  #nameSwap(segment: Segment): StorageFailure | undefined {
    const path = this.#path(fileName(segment.baseOffset, LOG_SUFFIX))
    try {
      this.#storage.rename(path + SWAP_SUFFIX, path)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      return error
    }
    this.#swaps.delete(segment)
    segment.retire()
    return undefined
  }

  #removeFiles(segment: Segment, delayMs: number): void {
    // The names are free at once: truncation may make a segment of the same base offset again.
    const gone: string[] = []
    for (const suffix of SEGMENT_SUFFIXES) {
      const path = this.#path(fileName(segment.baseOffset, suffix))
      const present = suffix === LOG_SUFFIX && this.#swaps.delete(segment) ? path + SWAP_SUFFIX : path
      if (suffix !== LOG_SUFFIX && !this.#storage.exists(path)) continue
      this.#storage.rename(present, path + DELETED_SUFFIX)
      gone.push(path + DELETED_SUFFIX)
    }
    const remove = () =>
      segment.close().whenSettled(() => {
        for (const path of gone) this.#removeFile(path)
      })
    if (delayMs <= 0) return remove()
    const timer = this.#env.timer(delayMs, () => {
      this.#timers.delete(timer)
      remove()
    })
    this.#timers.add(timer)
  }

  #removeFile(path: string): void {
    this.#storage.remove(path).whenSettled(failure => {
      if (failure) this.#env.log('warn', 'cannot remove a deleted segment', { path, error: failure.message })
    })
  }

  /** Leaves what is still to be removed to the next open of the directory. */
  cancel(): void {
    this.#changes++
    this.#isClosed = true
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }

  /** Closes all files. */
  close(): Later<StorageFailure | undefined> {
    this.cancel()
    return allOf(
      this.#env.turns,
      this.#list.map(segment => segment.close()),
    )
  }

  #path(name: string): string {
    return `${this.#directory}/${name}`
  }
}
