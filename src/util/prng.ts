/** A small seeded generator (sfc32): the same seed gives the same numbers on every platform. */
export class Prng {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#a = seed >>> 0
    this.#b = (seed / 0x100000000) >>> 0
    this.#c = 0x9e3779b9
    for (let round = 0; round < 15; round++) this.uint32()
  }

  /** The next 32 bits as an unsigned integer. */
  uint32(): number {
    const t = (this.#a + this.#b + this.#counter) >>> 0
    this.#counter = (this.#counter + 1) >>> 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) >>> 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) >>> 0
    this.#c = (this.#c + t) >>> 0
    return t
  }

  /** A number in [0, 1). */
  next(): number {
    return this.uint32() / 0x100000000
  }
}
