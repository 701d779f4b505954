/** The world of a simulation, event by event: after each the checkers look. */

import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import { type Checker, Violation } from './history.ts'

export class Steps {
  /** How many events there were. */
  count = 0
  readonly #world: VirtualEnv
  readonly #checkers: readonly Checker[]

  constructor(world: VirtualEnv, checkers: readonly Checker[]) {
    this.#world = world
    this.#checkers = checkers
  }

  /** All that happens in the next `ms`. */
  work(ms: number): void {
    const end = this.#world.now() + ms
    while ((this.#world.nextDue ?? Number.POSITIVE_INFINITY) <= end) this.#step()
  }

  /** Goes on until `done`; that it takes longer than `ms` is a {@link Violation}, of which `late` says more. */
  until(what: string, done: () => boolean, ms: number, late: () => string = () => ''): void {
    const end = this.#world.now() + ms
    while (!done()) {
      const due = this.#world.nextDue
      if (due === undefined || due > end) throw new Violation('liveness', `not within ${ms} ms: ${what}; ${late()}`)
      this.#step()
    }
  }

  /** Something is done from outside of the world, as an event of its own. */
  act(what: () => void): void {
    what()
    this.#look()
  }

  #step(): void {
    this.#world.step()
    this.count++
    this.#look()
  }

  #look(): void {
    for (const checker of this.#checkers) checker.step?.()
  }
}
