import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fnv1a32, murmur2, utf8 } from './partitioner.ts'

describe('partitioner', () => {
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('FNV-1a 32 of %j', (text, hash) => expect(fnv1a32(utf8(text))).toBe(hash))

  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['abc', 479470107],
    ['a-little-bit-long-string', -985981536],
  ])('murmur2 of %j', (text, hash) => expect(murmur2(utf8(text))).toBe(hash))

  it('encodes as TextEncoder does, half surrogate pairs too', () => {
    const encoder = new TextEncoder()
    const text = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map(unit => String.fromCharCode(unit)) })
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: 'binary' })), t => {
        expect(utf8(t)).toEqual([...encoder.encode(t)])
      }),
    )
    expect(utf8('\ud800')).toEqual([0xef, 0xbf, 0xbd])
    expect(utf8('a\udc00🎉')).toEqual([0x61, 0xef, 0xbf, 0xbd, 0xf0, 0x9f, 0x8e, 0x89])
  })
})
