import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { utf8Encode } from '../../util/utf8.ts'
import { OffsetMap } from './offset-map.ts'

const options = { secret: [1, 2, 3, 4] as const, keys: 1000, maxBytes: 1_000_000, loadFactor: 0.9 }

function put(map: OffsetMap, key: string, offset: number): void {
  const bytes = utf8Encode(key)
  map.put(bytes, 0, bytes.length, offset)
}

function get(map: OffsetMap, key: string): number {
  const bytes = utf8Encode(`<${key}>`)
  return map.get(bytes, 1, bytes.length - 1)
}

describe('the offset map', () => {
  it('has the last offset of each key, and none of others', () => {
    const entries = fc.array(fc.tuple(fc.string({ maxLength: 4 }), fc.nat()), { maxLength: 300 })
    fc.assert(
      fc.property(entries, fc.string({ maxLength: 4 }), (puts, other) => {
        const map = new OffsetMap(options)
        const plain = new Map(puts)
        for (const [key, offset] of puts) put(map, key, offset)
        for (const [key, offset] of plain) expect(get(map, key)).toBe(offset)
        expect(get(map, other)).toBe(plain.get(other) ?? -1)
        expect(map.size).toBe(plain.size)
      }),
      { numRuns: 100 },
    )
  })

  it('takes no more bytes than it may, and says when it is full', () => {
    const map = new OffsetMap({ ...options, maxBytes: 24 * 10 + 5 })
    expect(map.bytes).toBe(240)
    expect(map.capacity).toBe(9)
    for (let index = 0; index < 9; index++) {
      expect(map.isFull).toBe(false)
      put(map, `k${index}`, index)
    }
    expect(map.isFull).toBe(true)
    for (let index = 0; index < 9; index++) expect(get(map, `k${index}`)).toBe(index)
    expect(get(map, 'another')).toBe(-1)
    put(map, 'k3', 20)
    expect(get(map, 'k3')).toBe(20)
  })

  it('is no larger than the keys need, and takes them all', () => {
    for (const keys of [1, 2, 3, 10, 1000]) {
      for (const loadFactor of [0.1, 0.5, 0.9, 1]) {
        const map = new OffsetMap({ ...options, keys, loadFactor })
        expect(map.capacity).toBeGreaterThanOrEqual(keys)
        expect(map.bytes).toBeLessThanOrEqual(24 * (keys / loadFactor + 3))
      }
    }
    expect(new OffsetMap({ ...options, maxBytes: 0 }).capacity).toBe(1)
  })

  it('knows offsets beyond 32 bits, and 0', () => {
    const map = new OffsetMap(options)
    put(map, 'a', 0)
    put(map, 'b', 2 ** 50)
    expect([get(map, 'a'), get(map, 'b')]).toEqual([0, 2 ** 50])
  })
})
