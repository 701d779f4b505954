/**
 * The syncs of one file or one directory: one is under way at a time, and all who ask meanwhile share the next one, since
 * what they wrote may have come too late for this one. After a failure there is never another: the system may have
 * dropped the pages it could not write, and a second sync would then report success.
 */

import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'
import type { StorageFailure } from './storage.ts'

export type SyncResult = StorageFailure | undefined

export class Syncs {
  readonly #turns: Turns
  readonly #begin: () => Later<SyncResult>
  #current: Later<SyncResult> | undefined
  #next: Later<SyncResult> | undefined
  #failure: SyncResult

  /** @param begin begins a sync of everything there is at that moment. */
  constructor(turns: Turns, begin: () => Later<SyncResult>) {
    this.#turns = turns
    this.#begin = begin
  }

  get running(): boolean {
    return this.#current !== undefined
  }

  /** Settles once the one that is under way has ended; it begins none. */
  last(): Later<SyncResult> {
    return this.#current ?? Later.of<SyncResult>(this.#turns, this.#failure)
  }

  /** Settles once everything that there is now has been synced. */
  sync(): Later<SyncResult> {
    if (this.#failure !== undefined) return Later.of<SyncResult>(this.#turns, this.#failure)
    if (this.#current !== undefined) {
      this.#next ??= new Later<SyncResult>(this.#turns)
      return this.#next
    }
    const later = new Later<SyncResult>(this.#turns)
    this.#run(later)
    return later
  }

  #run(later: Later<SyncResult>): void {
    this.#current = later
    this.#begin().whenSettled(failure => {
      this.#current = undefined
      this.#failure ??= failure
      later.settle(this.#failure)
      const next = this.#next
      this.#next = undefined
      if (next === undefined) return
      if (this.#failure !== undefined) next.settle(this.#failure)
      else this.#run(next)
    })
  }
}

/** Settles when all have, with the first failure in their order. */
export function allOf(turns: Turns, laters: readonly Later<SyncResult>[]): Later<SyncResult> {
  const result = new Later<SyncResult>(turns)
  let left = laters.length
  if (left === 0) result.settle(undefined)
  for (const later of laters) {
    later.whenSettled(() => {
      if (--left === 0) result.settle(laters.find(each => each.value !== undefined)?.value)
    })
  }
  return result
}
