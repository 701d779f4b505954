import { describe, expect, it } from 'vitest'
import { SipHash } from './sip-hash.ts'

// The key 00 01 … 0f, as in the vectors that its authors published.
const hash = new SipHash([0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c])

function hex(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const out = new Uint32Array(4)
  hash.hash(bytes, start, end, out)
  return [...new Uint8Array(out.buffer)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index)

describe('SipHash-2-4 of 128 bits', () => {
  it('gives the published results', () => {
    expect(hex(counting(0))).toBe('a3817f04ba25a8e66df67214c7550293')
    expect(hex(counting(1))).toBe('da87c1d86b99af44347659119b22fc45')
    expect(hex(counting(2))).toBe('8177228da4a45dc7fca38bdef60affe4')
  })

  it('looks at the range alone', () => {
    for (let length = 0; length < 40; length++) {
      const inside = new Uint8Array(60).fill(0xee)
      inside.set(counting(length), 7)
      expect(hex(inside, 7, 7 + length)).toBe(hex(counting(length)))
    }
  })

  it('differs for every length, every byte and every secret', () => {
    const seen = new Set<string>()
    for (let length = 0; length < 24; length++) {
      for (let at = 0; at <= length; at++) {
        const bytes = new Uint8Array(length)
        if (at < length) bytes[at] = 0x80
        seen.add(hex(bytes))
      }
    }
    expect(seen.size).toBe((24 * 25) / 2)
    const other = new Uint32Array(4)
    new SipHash([1, 2, 3, 4]).hash(counting(9), 0, 9, other)
    const mine = new Uint32Array(4)
    hash.hash(counting(9), 0, 9, mine)
    expect(other).not.toEqual(mine)
  })
})
