/**
 * The segments of one log, in order, of which the last is the active one, and the names of their files (Kafka's
 * `LogSegments`). There is always at least one once the log is open.
 */

import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { LogConfig } from './log-config.ts'
import { Segment } from './segment.ts'

const SUFFIX = '.log'
/** What the file of a deleted segment is called until it is removed. */
export const DELETED_SUFFIX = '.deleted'

export function segmentName(baseOffset: number): string {
  return `${String(baseOffset).padStart(20, '0')}${SUFFIX}`
}

/** The base offset that a file name says, or undefined for any other file. */
export function baseOffsetOf(name: string): number | undefined {
  return /^\d{20}\.log$/.test(name) ? Number(name.slice(0, 20)) : undefined
}

export class Segments {
  readonly #storage: Storage
  readonly #directory: string
  readonly #env: Env
  readonly #list: Segment[] = []
  readonly #timers = new Set<Timer>()
  readonly #exempt: boolean
  #removals = 0

  /** @param exempt its files are: see `OpenOptions`. */
  constructor(storage: Storage, directory: string, env: Env, exempt = false) {
    this.#storage = storage
    this.#directory = directory
    this.#env = env
    this.#exempt = exempt
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

  /** Opens the file of a segment, or makes it, and puts it behind all others. */
  add(baseOffset: number, config: LogConfig): Segment {
    const file = this.#storage.open(this.#path(segmentName(baseOffset)), { create: true, exempt: this.#exempt })
    const segment = new Segment(file, baseOffset, {
      now: this.#env.now(),
      indexIntervalBytes: config.indexIntervalBytes,
      agesByAppend: this.#env.aheadOfClients,
    })
    this.#list.push(segment)
    return segment
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

  /** Takes out `count` segments from `start` on. Their files go after `delayMs`; readers keep what they hold. */
  remove(start: number, count: number, delayMs: number): Segment[] {
    const removed = this.#list.splice(start, count)
    for (const segment of removed) this.#removeFile(segment, delayMs)
    return removed
  }

  #removeFile(segment: Segment, delayMs: number): void {
    const path = this.#path(segmentName(segment.baseOffset))
    // The name is free at once: truncation may make a segment of the same base offset again.
    const gone = `${path}.${this.#env.now()}-${this.#removals++}${DELETED_SUFFIX}`
    this.#storage.rename(path, gone)
    const remove = () => segment.file.close().whenSettled(() => this.#report(gone))
    if (delayMs <= 0) return remove()
    const timer = this.#env.timer(delayMs, () => {
      this.#timers.delete(timer)
      remove()
    })
    this.#timers.add(timer)
  }

  #report(path: string): void {
    this.#storage.remove(path).whenSettled(failure => {
      if (failure) this.#env.log('warn', 'cannot remove a deleted segment', { path, error: failure.message })
    })
  }

  /** Leaves what is still to be removed to the next open of the directory. */
  close(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }

  /** Closes all files once `flushed` has settled, and settles as that did, or with what closing ran into. */
  closeAfter(flushed: Later<StorageFailure | undefined>): Later<StorageFailure | undefined> {
    this.close()
    const result = new Later<StorageFailure | undefined>(this.#env.turns)
    flushed.whenSettled(flushFailure => {
      let failure = flushFailure
      let waiting = this.#list.length
      for (const segment of this.#list) {
        segment.file.close().whenSettled(closeFailure => {
          failure ??= closeFailure
          if (--waiting === 0) result.settle(failure)
        })
      }
    })
    return result
  }

  #path(name: string): string {
    return `${this.#directory}/${name}`
  }
}
