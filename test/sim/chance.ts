/**
 * Everything that a simulation leaves to chance comes from here, and so from its seed. Each part of the simulation has one of its
 * own, so that a change in one part does not shift the dice of the others.
 */

import { Prng } from '../../src/util/prng.ts'

export class Chance {
  readonly #prng: Prng

  constructor(seed: number) {
    this.#prng = new Prng(seed)
  }

  /**
   * Another source for one thing alone, by its name: what a seed decides by the other numbers stays as it is when this thing is
   * added or taken away.
   */
  static for(seed: number, name: string): Chance {
    let hash = 0x811c9dc5 ^ seed
    for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
    return new Chance(hash >>> 0)
  }

  /** A number in [0, 1). */
  next(): number {
    return this.#prng.next()
  }

  /** True once in a while: `probability` of the times. */
  maybe(probability: number): boolean {
    return this.#prng.next() < probability
  }

  /** A whole number from 0 to `count` − 1. */
  below(count: number): number {
    return Math.floor(this.#prng.next() * count)
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]
  }

  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items]
    for (let index = result.length - 1; index > 0; index--) {
      const other = this.below(index + 1)
      ;[result[index], result[other]] = [result[other], result[index]]
    }
    return result
  }

  /** Another source, whose numbers do not depend on how many are taken from this one afterwards. */
  fork(): Chance {
    return new Chance(this.#prng.uint32())
  }
}
