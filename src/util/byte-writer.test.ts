import { describe, expect, it } from 'vitest'
import { AssertionError } from './assert.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter, concat, totalLength } from './byte-writer.ts'
import { Prng } from './prng.ts'

const MAX = Number.MAX_SAFE_INTEGER

function written(write: (writer: ByteWriter) => void): string {
  const writer = new ByteWriter()
  write(writer)
  return Buffer.from(writer.finish()).toString('hex')
}

/** Zig-zag and base 128 over BigInt. */
function varlongHex(value: number): string {
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
  const bytes: number[] = []
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Buffer.from(bytes).toString('hex')
}

/** Every power of two with its neighbours, both signs: where carries and lengths change. */
function edges(bits: number): number[] {
  const values = new Set<number>([0])
  for (let bit = 0; bit <= bits; bit++) {
    for (const near of [-1, 0, 1]) {
      values.add(2 ** bit + near)
      values.add(-(2 ** bit) + near)
    }
  }
  return [...values]
}

it('forgets what it has, whether it has grown or not', () => {
  for (const length of [3, 600, 5000]) {
    const writer = new ByteWriter()
    writer.bytes(new Uint8Array(length).fill(1))
    writer.part(new Uint8Array(2000))
    writer.int8(1)
    writer.finish()
    writer.clear()
    expect(writer.length).toBe(0)
    for (let round = 0; round < 2; round++) {
      writer.clear()
      writer.bytes(new Uint8Array(400).fill(7))
      expect(writer.length).toBe(400)
      expect(writer.finish()).toEqual(new Uint8Array(400).fill(7))
    }
  }
})

describe('ByteWriter', () => {
  it('writes integers big-endian, with their sign', () => {
    expect(written(writer => writer.int8(-128))).toBe('80')
    expect(written(writer => writer.int16(-32768))).toBe('8000')
    expect(written(writer => writer.int16(65535))).toBe('ffff')
    expect(written(writer => writer.int32(-2147483648))).toBe('80000000')
    expect(written(writer => writer.int32(4294967295))).toBe('ffffffff')
    expect(written(writer => writer.float64(-1.5))).toBe('bff8000000000000')
  })

  it('int64 agrees with BigInt at every edge, and comes back', () => {
    for (const value of edges(53).filter(Number.isSafeInteger)) {
      const hex = BigInt.asUintN(64, BigInt(value)).toString(16).padStart(16, '0')
      expect(written(writer => writer.int64(value))).toBe(hex)
      expect(new ByteReader(Buffer.from(hex, 'hex')).int64()).toBe(value)
    }
    expect(written(writer => writer.int64(MAX))).toBe('001fffffffffffff')
    expect(written(writer => writer.int64(-MAX))).toBe('ffe0000000000001')
  })

  it('varlong agrees with BigInt at every edge, and comes back', () => {
    const random = new Prng(5)
    const some = Array.from({ length: 2000 }, () => Math.floor((random.next() - 0.5) * 2 ** (random.next() * 54)))
    for (const value of [...edges(53), ...some].filter(Number.isSafeInteger)) {
      const hex = varlongHex(value)
      expect(written(writer => writer.varlong(value))).toBe(hex)
      expect(new ByteReader(Buffer.from(hex, 'hex')).varlong()).toBe(value)
    }
    expect(written(writer => writer.varlong(MAX))).toBe('feffffffffffff1f')
    expect(written(writer => writer.varlong(-MAX))).toBe('fdffffffffffff1f')
  })

  it('varint and uvarint at every edge', () => {
    for (const value of edges(31).filter(value => value === (value | 0))) {
      const hex = varlongHex(value)
      expect(written(writer => writer.varint(value))).toBe(hex)
      expect(new ByteReader(Buffer.from(hex, 'hex')).varint()).toBe(value)
    }
    for (const value of edges(32).filter(value => value === value >>> 0)) {
      const hex = written(writer => writer.uvarint(value))
      expect(new ByteReader(Buffer.from(hex, 'hex')).uvarint()).toBe(value)
    }
    expect(written(writer => writer.uvarint(0xffffffff))).toBe('ffffffff0f')
    expect(written(writer => writer.uvarint(300))).toBe('ac02')
  })

  it.each([2 ** 53, -(2 ** 53), 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d as a 64-bit integer', value => {
    expect(() => new ByteWriter().int64(value)).toThrow(AssertionError)
    expect(() => new ByteWriter().varlong(value)).toThrow(AssertionError)
  })

  it('puts parts in without a copy, between what it writes itself', () => {
    const writer = new ByteWriter(4)
    const large = Uint8Array.of(7, 7, 7)
    writer.int16(1)
    writer.part(large)
    writer.part(new Uint8Array(0))
    writer.int32(2)
    writer.int16(3)
    writer.part(large)
    expect(writer.length).toBe(14)
    const parts = writer.parts()
    expect(parts).toHaveLength(4)
    expect(parts[1]).toBe(large)
    expect(parts[3]).toBe(large)
    expect(totalLength(parts)).toBe(14)
    expect(Buffer.from(concat(parts)).toString('hex')).toBe('0001070707000000020003070707')
    expect(writer.finish()).toEqual(concat(parts))
  })

  it('keeps what it has while its chunk grows, whatever it starts with', () => {
    for (const capacity of [0, 1, 3, 256]) {
      const writer = new ByteWriter(capacity)
      const expected: number[] = []
      for (let index = 0; index < 1000; index++) {
        if (index % 10 === 0) {
          writer.part(Uint8Array.of(index & 0xff, 1))
          expected.push(index & 0xff, 1)
        }
        writer.int8(index)
        writer.bytes(Uint8Array.of(1, 2, 3))
        writer.utf8('é')
        expected.push(index & 0xff, 1, 2, 3, 0xc3, 0xa9)
        expect(writer.length).toBe(expected.length)
      }
      expect([...writer.finish()]).toEqual(expected)
    }
  })

  it('gives nothing when nothing was written', () => {
    expect(new ByteWriter().parts()).toEqual([])
    expect(new ByteWriter().finish()).toEqual(new Uint8Array(0))
  })
})
