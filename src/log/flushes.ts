/**
 * Brings a log to the disk: a segment when it is rolled, the active one when asked. A flush that failed is never tried
 * again, because the system may have dropped the pages it could not write and would then report success.
 */

import type { StorageFailure, StorageFile } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'

type FlushResult = StorageFailure | undefined

export class Flushes {
  readonly #turns: Turns
  readonly #running = new Set<Later<FlushResult>>()
  readonly #waiting = new Set<{ endOffset: number }>()
  #failure: FlushResult
  #offset: number

  constructor(turns: Turns, offset = 0) {
    this.#turns = turns
    this.#offset = offset
  }

  /** What lies below is on the disk. */
  get offset(): number {
    return this.#offset
  }

  /** The first failure, after which nothing is known to be on the disk any more. */
  get failure(): FlushResult {
    return this.#failure
  }

  /** Begins to flush a file; {@link finish} waits for it. */
  start(file: StorageFile): void {
    if (this.#failure) return
    const flush = file.flush()
    this.#running.add(flush)
    flush.whenSettled(failure => {
      this.#running.delete(flush)
      this.#failure ??= failure
    })
  }

  /** Settles once everything that was started is on the disk, which is then the log up to `endOffset`. */
  finish(endOffset: number): Later<FlushResult> {
    const result = new Later<FlushResult>(this.#turns)
    let running = this.#running.size
    const goal = { endOffset }
    this.#waiting.add(goal)
    const done = () => {
      if (--running > 0) return
      this.#waiting.delete(goal)
      if (!this.#failure) this.#offset = Math.max(this.#offset, goal.endOffset)
      result.settle(this.#failure)
    }
    // In the order of listeners: the one of `start` has noted a failure by the time ours runs.
    if (running === 0) done()
    else for (const flush of this.#running) flush.whenSettled(done)
    return result
  }

  /** The log was cut: what lies behind `endOffset` is to be flushed again. */
  truncate(endOffset: number): void {
    this.#offset = Math.min(this.#offset, endOffset)
    for (const goal of this.#waiting) goal.endOffset = Math.min(goal.endOffset, endOffset)
  }
}
