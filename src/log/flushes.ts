/**
 * Brings the files of a log to the disk, one round at a time: whoever asks while a round is under way is served by the next one,
 * together with all others, so that many waiting producers share one fsync. A flush that failed is never tried again, because
 * the system may have dropped the pages it could not write and would then report success.
 */

import type { StorageFailure, StorageFile } from '../storage/storage.ts'
import { allOf } from '../storage/syncs.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'

type FlushResult = StorageFailure | undefined

/** The files that hold offsets from one to another, and the offset up to which they hold everything. */
interface FilesToFlush {
  readonly files: readonly StorageFile[]
  readonly endOffset: number
}

export interface FlushesOptions {
  turns: Turns
  /** What lies below is on the disk already. */
  offset?: number
  /** The files with what was appended at or behind `from` and before `to`, as they are now. */
  filesBetween(from: number, to: number): FilesToFlush
  /** Brings the names of the files to the disk: after a cut, files that are gone must not come back. */
  syncNames?(): Later<FlushResult>
  /** Called when {@link Flushes.offset} has moved. */
  flushed?(): void
  /** Called once, when a flush fails. */
  failed?(failure: StorageFailure): void
}

export class Flushes {
  readonly #options: FlushesOptions
  readonly #waiting = new Set<{ endOffset: number; later: Later<FlushResult> }>()
  #failure: FlushResult
  #offset: number
  /** Up to where somebody wants it flushed. */
  #wanted = 0
  /** What the round under way may count at most: less than it began with once the log was cut. */
  #limit = 0
  /** The log was cut, which is not on the disk yet: what was cut off would be there again after a power cut. */
  #isCut = false
  /** The same of what was removed at its beginning. */
  #hasDropped = false
  #isRunning = false
  #isScheduled = false

  constructor(options: FlushesOptions) {
    this.#options = options
    this.#offset = options.offset ?? 0
  }

  /** What lies below is on the disk. */
  get offset(): number {
    return this.#offset
  }

  /** The first failure, after which nothing is known to be on the disk any more. */
  get failure(): FlushResult {
    return this.#failure
  }

  /** Sees to it that what lies below `endOffset` comes to the disk soon: whatever this drain still appends comes along. */
  request(endOffset: number): void {
    if (this.#failure !== undefined || this.#isDone(endOffset)) return
    this.#wanted = Math.max(this.#wanted, endOffset)
    if (this.#isRunning || this.#isScheduled) return
    this.#isScheduled = true
    this.#options.turns.enqueue(() => {
      this.#isScheduled = false
      this.#begin()
    })
  }

  /** As {@link request}; settles once it is done, or can be no more. */
  flush(endOffset: number): Later<FlushResult> {
    const later = new Later<FlushResult>(this.#options.turns)
    if (this.#failure !== undefined || this.#isDone(endOffset)) {
      later.settle(this.#failure)
      return later
    }
    this.#waiting.add({ endOffset, later })
    this.request(endOffset)
    return later
  }

  /** The log was cut: what lies behind `endOffset` is to be flushed again. */
  truncate(endOffset: number): void {
    this.#offset = Math.min(this.#offset, endOffset)
    this.#limit = Math.min(this.#limit, endOffset)
    this.#wanted = Math.min(this.#wanted, endOffset)
    for (const goal of this.#waiting) goal.endOffset = Math.min(goal.endOffset, endOffset)
    this.#isCut = true
  }

  /**
   * What lay below `offset` was removed. Of what was not flushed the next flush makes that durable: should the files come back with the
   * power, they may be broken, and recovery would take the log to end there.
   */
  dropped(offset: number): void {
    if (offset > this.#offset) this.#hasDropped = true
  }

  /** The log is as good as on the disk up to `offset`, whatever was done for that. */
  skipTo(offset: number): void {
    this.#offset = offset
  }

  #isDone(endOffset: number): boolean {
    return endOffset <= this.#offset && !this.#isCut
  }

  #begin(): void {
    if (this.#failure !== undefined || this.#isDone(this.#wanted)) return this.#settle()
    const { turns, filesBetween } = this.#options
    // The file that was cut is the last, and may be empty now.
    const { files, endOffset } = filesBetween(this.#offset, this.#isCut ? Number.MAX_SAFE_INTEGER : this.#wanted)
    this.#limit = endOffset
    this.#isRunning = true
    const names = this.#isCut || this.#hasDropped ? (this.#options.syncNames?.() ?? []) : []
    this.#isCut = false
    this.#hasDropped = false
    allOf(turns, files.map(file => file.flush()).concat(names)).whenSettled(failure => {
      this.#isRunning = false
      if (failure !== undefined) return this.fail(failure)
      const moved = this.#limit > this.#offset
      this.#offset = Math.max(this.#offset, this.#limit)
      this.#settle()
      if (moved) this.#options.flushed?.()
      if (!this.#isDone(this.#wanted)) this.#begin()
    })
  }

  /** Nothing is known to be on the disk any more, for this reason. */
  fail(failure: StorageFailure): void {
    if (this.#failure !== undefined) return
    this.#failure = failure
    this.#settle()
    this.#options.failed?.(failure)
  }

  #settle(): void {
    for (const goal of this.#waiting) {
      if (this.#failure === undefined && !this.#isDone(goal.endOffset)) continue
      this.#waiting.delete(goal)
      goal.later.settle(this.#failure)
    }
  }
}
