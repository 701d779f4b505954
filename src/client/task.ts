/**
 * Steps that wait for each other, written top to bottom: a generator that yields a `Later` and goes on with its value.
 * It is not async/await: no promise, no microtask. A task goes on in the turn in which what it waits for tells its listeners.
 *
 * @example
 * const greeting = runTask(env.turns, (function* () {
 *   const name = yield* until(askName())
 *   return `hello ${name}`
 * })())
 */

import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { Turns } from '../util/turns.ts'

export type Task<T> = Generator<Later<unknown>, T, unknown>

/** Waits for `later` inside a task. */
export function* until<T>(later: Later<T>): Task<T> {
  return (yield later as Later<unknown>) as T
}

/** Runs a task; its first step runs before this returns. */
export function runTask<T>(turns: Turns, task: Task<T>): Later<T> {
  const result = new Later<T>(turns)
  const step = (value: unknown): void => {
    const next = task.next(value)
    if (next.done) result.settle(next.value)
    else next.value.whenSettled(step)
  }
  step(undefined)
  return result
}

/** A `Later` that settles once all of `laters` have, with their values in the same order. */
export function all<T>(turns: Turns, laters: readonly Later<T>[]): Later<T[]> {
  const result = new Later<T[]>(turns)
  let left = laters.length
  const finish = () => result.settle(laters.map(later => later.value))
  if (left === 0) finish()
  for (const later of laters) {
    later.whenSettled(() => {
      if (--left === 0) finish()
    })
  }
  return result
}

/** Pauses that can be cut short all at once, so that nothing of a closed client is left in the timer queue. */
export class Pauses {
  readonly #env: Env
  readonly #waiting = new Map<Later<void>, Timer>()

  constructor(env: Env) {
    this.#env = env
  }

  /** Settles after `ms`, or when {@link cutShort} is called. */
  pause(ms: number): Later<void> {
    const later = new Later<void>(this.#env.turns)
    const timer = this.#env.timer(ms, () => this.#end(later))
    this.#waiting.set(later, timer)
    return later
  }

  #end(later: Later<void>): void {
    this.#waiting.get(later)?.cancel()
    this.#waiting.delete(later)
    later.settle()
  }

  cutShort(): void {
    for (const later of [...this.#waiting.keys()]) this.#end(later)
  }
}
