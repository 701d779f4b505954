import { describe, expect, it } from 'vitest'
import { Prng } from './prng.ts'
import { randomDashedUuid, randomUuid, uuidFromBytes, uuidToBytes, ZERO_UUID } from './uuid.ts'

describe('uuid', () => {
  it('is base64url without padding, both ways', () => {
    const random = new Prng(1)
    for (let round = 0; round < 500; round++) {
      const bytes = Uint8Array.from({ length: 16 }, () => random.uint32() & 0xff)
      const text = Buffer.from(bytes).toString('base64url')
      expect(uuidFromBytes(bytes)).toBe(text)
      expect(uuidToBytes(text)).toEqual(bytes)
    }
    expect(uuidFromBytes(new Uint8Array(16))).toBe(ZERO_UUID)
    expect(uuidToBytes('_____________________w')).toEqual(new Uint8Array(16).fill(255))
  })

  it('is read from the middle of other bytes', () => {
    const bytes = Uint8Array.from({ length: 20 }, (_, index) => index)
    expect(uuidFromBytes(bytes, 3)).toBe(Buffer.from(bytes.subarray(3, 19)).toString('base64url'))
  })

  it.each(['', 'AAAAAAAAAAAAAAAAAAAAA', 'AAAAAAAAAAAAAAAAAAAAAAA', 'AAAAAAAAAAAAAAAAAAAA+A', 'AAAAAAAAAAAAAAAAAAAAé='])(
    '%j is none',
    text => expect(() => uuidToBytes(text)).toThrow(RangeError),
  )

  it('made at random is of version 4 and never begins with a dash', () => {
    const random = new Prng(9)
    const seen = new Set<string>()
    for (let round = 0; round < 1000; round++) {
      const text = randomUuid(() => random.next())
      const bytes = uuidToBytes(text)
      expect(bytes[6] >> 4).toBe(4)
      expect(bytes[8] >> 6).toBe(2)
      expect(text).not.toMatch(/^-/)
      seen.add(text)
    }
    expect(seen.size).toBe(1000)
  })

  it('tries again when the first would begin with a dash', () => {
    const numbers = [62 / 64, ...new Array<number>(15).fill(0)]
    let index = 0
    expect(randomUuid(() => numbers[index++] ?? 0.5)).not.toMatch(/^-/)
    expect(index).toBe(32)
  })

  it('in Java form has dashes', () => {
    const random = new Prng(2)
    const text = randomDashedUuid(() => random.next())
    expect(text).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })
})
