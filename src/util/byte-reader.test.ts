import { describe, expect, it } from 'vitest'
import { ByteError, ByteReader } from './byte-reader.ts'

const MAX = Number.MAX_SAFE_INTEGER

function reader(hex: string): ByteReader {
  return new ByteReader(Uint8Array.from(Buffer.from(hex, 'hex')))
}

describe('ByteReader', () => {
  it('reads integers big-endian, with their sign', () => {
    const bytes = reader('80 ff 8000 ffff 80000000 ffffffff 7fffffff'.replaceAll(' ', ''))
    expect(bytes.int8()).toBe(-128)
    expect(bytes.uint8()).toBe(255)
    expect(bytes.int16()).toBe(-32768)
    expect(bytes.uint16()).toBe(65535)
    expect(bytes.int32()).toBe(-2147483648)
    expect(bytes.uint32()).toBe(4294967295)
    expect(bytes.int32()).toBe(2147483647)
    expect(bytes.remaining).toBe(0)
  })

  it.each([
    ['0000000000000000', 0],
    ['ffffffffffffffff', -1],
    ['00000000ffffffff', 0xffffffff],
    ['ffffffff00000000', -0x100000000],
    ['001fffffffffffff', MAX],
    ['ffe0000000000001', -MAX],
    // Beyond: saturated.
    ['0020000000000000', MAX],
    ['ffe0000000000000', -MAX],
    ['7fffffffffffffff', MAX],
    ['8000000000000000', -MAX],
  ])('int64 %s is %d', (hex, value) => expect(reader(hex).int64()).toBe(value))

  it('reads doubles in the middle of a larger buffer', () => {
    const bytes = new Uint8Array(16)
    new DataView(bytes.buffer).setFloat64(5, -1.5)
    expect(new ByteReader(bytes.subarray(2), 3).float64()).toBe(-1.5)
  })

  it.each([
    ['00', 0],
    ['7f', 127],
    ['8001', 128],
    ['ff7f', 16383],
    ['ffffffff07', 2147483647],
    ['ffffffff0f', 4294967295],
    // Longer than it must be.
    ['8000', 0],
    ['8180808000', 1],
  ])('uvarint %s is %d', (hex, value) => expect(reader(hex).uvarint()).toBe(value))

  it.each(['8080808080', '808080808001', 'ffffffff10', 'ffffffffff'])('uvarint %s is too long', hex =>
    expect(() => reader(hex).uvarint()).toThrow(ByteError),
  )

  it.each([
    ['00', 0],
    ['01', -1],
    ['02', 1],
    ['7e', 63],
    ['7f', -64],
    ['8001', 64],
    ['8101', -65],
    ['fe7f', 8191],
    ['ff7f', -8192],
    ['feffffff0f', 2147483647],
    ['ffffffff0f', -2147483648],
  ])('varint %s is %d, and so it is as a varlong', (hex, value) => {
    expect(reader(hex).varint()).toBe(value)
    expect(reader(hex).varlong()).toBe(value)
  })

  it('varint of six bytes is refused', () => {
    expect(() => reader('808080808001').varint()).toThrow(ByteError)
  })

  it.each([
    ['8080808010', 2147483648],
    ['8180808010', -2147483649],
    ['feffffffffffff1f', MAX],
    ['fdffffffffffff1f', -MAX],
    ['ffffffffffffff1f', -MAX],
    ['8080808080808020', MAX],
    ['feffffffffffffffff01', MAX],
    ['ffffffffffffffffff01', -MAX],
    ['80808080808080808001', MAX],
    ['808080808080808010', MAX],
  ])('varlong %s is %d', (hex, value) => expect(reader(hex).varlong()).toBe(value))

  it('varlong of eleven bytes is refused', () => {
    expect(() => reader('8080808080808080808001').varlong()).toThrow(ByteError)
  })

  it.each<[string, (bytes: ByteReader) => unknown]>([
    ['int8', bytes => bytes.int8()],
    ['uint8', bytes => bytes.uint8()],
    ['int16', bytes => bytes.int16()],
    ['uint16', bytes => bytes.uint16()],
    ['int32', bytes => bytes.int32()],
    ['uint32', bytes => bytes.uint32()],
    ['int64', bytes => bytes.int64()],
    ['float64', bytes => bytes.float64()],
    ['uvarint', bytes => bytes.uvarint()],
    ['varint', bytes => bytes.varint()],
    ['varlong', bytes => bytes.varlong()],
    ['view', bytes => bytes.view(9)],
    ['copy', bytes => bytes.copy(9)],
    ['utf8', bytes => bytes.utf8(9)],
  ])('%s does not read behind its end, though there are bytes', (_name, read) => {
    const bytes = new Uint8Array(32).fill(0x80)
    expect(() => read(new ByteReader(bytes, 4, 4))).toThrow(ByteError)
    const widths = [1, 2, 3, 4, 5, 6, 7, 8]
    for (const width of widths) {
      const limited = new ByteReader(bytes, 4, 4 + width)
      try {
        read(limited)
      } catch (error) {
        expect(error).toBeInstanceOf(ByteError)
      }
      expect(limited.position).toBeLessThanOrEqual(4 + width)
    }
  })

  it('refuses lengths below zero', () => {
    expect(() => reader('0000').skip(-1)).toThrow(ByteError)
    expect(() => reader('0000').view(-1)).toThrow(ByteError)
  })

  it('gives views that share and copies that do not, also of a Node buffer', () => {
    for (const bytes of [Uint8Array.of(1, 2, 3, 4), Buffer.from([1, 2, 3, 4])]) {
      const view = new ByteReader(bytes, 1).view(2)
      const copy = new ByteReader(bytes, 1).copy(2)
      bytes.fill(9)
      expect([...view]).toEqual([9, 9])
      expect([...copy]).toEqual([2, 3])
    }
  })
})
