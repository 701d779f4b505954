import { assert } from './assert.ts'
import type { Turns } from './turns.ts'

/**
 * A value that comes later: settles once, synchronously, and tells its listeners through the queue of its `Turns`.
 * It is not a promise: no microtask, no rejection. What can fail settles with a value that says so.
 *
 * @example
 * const reply = new Later<number>(env.turns)
 * reply.whenSettled(value => send(value))
 * reply.settle(42) // the listener runs in the present drain, after what was queued before
 */
export class Later<T> {
  readonly #turns: Turns
  #settled = false
  #value: T | undefined
  // `never` keeps the class covariant: a Later of something narrower is a Later of something wider.
  #listeners: ((value: never) => void)[] | undefined

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** One that is settled already. */
  static of<T>(turns: Turns, value: T): Later<T> {
    const later = new Later<T>(turns)
    later.settle(value)
    return later
  }

  get settled(): boolean {
    return this.#settled
  }

  /** The value; asking before it is settled is a mistake. */
  get value(): T {
    assert(this.#settled, 'Later read before it settled')
    return this.#value as T
  }

  /** Settles with `value`. The first call wins; the answer says whether this was it. */
  settle(value: T): boolean {
    if (this.#settled) return false
    this.#settled = true
    this.#value = value
    const listeners = this.#listeners
    this.#listeners = undefined
    if (listeners) for (const listener of listeners) this.#turns.enqueue(() => (listener as (value: T) => void)(value))
    return true
  }

  /** Calls `listener` with the value, in a turn of its own, whether it is settled already or not. */
  whenSettled(listener: (value: T) => void): void {
    if (this.#settled) {
      const value = this.#value as T
      this.#turns.enqueue(() => listener(value))
    } else {
      this.#listeners ??= []
      this.#listeners.push(listener)
    }
  }

  /** A `Later` of what `change` makes of the value. */
  map<U>(change: (value: T) => U): Later<U> {
    const result = new Later<U>(this.#turns)
    this.whenSettled(value => result.settle(change(value)))
    return result
  }
}
