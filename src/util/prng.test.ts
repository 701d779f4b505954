import { describe, expect, it } from 'vitest'
import { Prng } from './prng.ts'

/** The published algorithm (sfc32 of PractRand) over BigInt, seeded as ours. */
function reference(seed: number, count: number): number[] {
  const mask = 0xffffffffn
  let a = BigInt(seed) & mask
  let b = (BigInt(seed) >> 32n) & mask
  let c = 0x9e3779b9n
  let counter = 1n
  const numbers: number[] = []
  for (let round = 0; round < 15 + count; round++) {
    const sum = (a + b + counter) & mask
    counter = (counter + 1n) & mask
    a = b ^ (b >> 9n)
    b = (c + (c << 3n)) & mask
    c = ((((c << 21n) | (c >> 11n)) & mask) + sum) & mask
    if (round >= 15) numbers.push(Number(sum))
  }
  return numbers
}

describe('Prng', () => {
  it.each([0, 1, 42, 0xffffffff, 0x100000000, 2 ** 52 + 12345])('seed %d gives what sfc32 gives', seed => {
    const prng = new Prng(seed)
    expect(Array.from({ length: 1000 }, () => prng.uint32())).toEqual(reference(seed, 1000))
  })

  it('gives numbers in [0, 1), spread evenly', () => {
    const prng = new Prng(3)
    const buckets = new Array<number>(10).fill(0)
    for (let index = 0; index < 100_000; index++) buckets[Math.floor(prng.next() * 10)]++
    expect(buckets).toHaveLength(10)
    for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })
})
