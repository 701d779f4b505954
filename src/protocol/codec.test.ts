import { describe, expect, it } from 'vitest'
import { ByteError, ByteReader } from '../util/byte-reader.ts'
import { ByteWriter } from '../util/byte-writer.ts'
import {
  decodeMessage,
  decodeVersioned,
  EncodeError,
  encodeMessage,
  encodeVersioned,
  isFlexible,
  readStruct,
  writeStruct,
} from './codec.ts'
import {
  array,
  bool,
  bytes,
  type Encodable,
  type Fields,
  float64,
  int8,
  int16,
  int32,
  int64,
  message,
  records,
  type Struct,
  string,
  struct,
  uint16,
  uint32,
  uuid,
} from './dsl.ts'

function encode<F extends Fields>(
  schema: Struct<F>,
  value: Encodable<Struct<F>>,
  version = 0,
  flexible = false,
): string {
  const writer = new ByteWriter()
  writeStruct(schema, version, flexible, writer, value)
  return Buffer.from(writer.finish()).toString('hex')
}

function decode<F extends Fields>(schema: Struct<F>, hex: string, version = 0, flexible = false) {
  return readStruct(schema, version, flexible, new ByteReader(Uint8Array.from(Buffer.from(hex, 'hex'))))
}

describe('fields and versions', () => {
  const schema = struct({
    always: int8(),
    early: int8().until(1).default(5),
    late: int8().since(2).default(6),
    hint: string().since(2).ignorable(),
  })

  it('are written and read in the versions that have them, the rest read as their default', () => {
    expect(encode(schema, { always: 1, early: 2 }, 1)).toBe('0102')
    expect(decode(schema, '0102', 1)).toEqual({ always: 1, early: 2, late: 6, hint: '' })
    expect(encode(schema, { always: 1, late: 3, hint: 'x' }, 2)).toBe('0103000178')
    expect(decode(schema, '0103000178', 2)).toEqual({ always: 1, early: 5, late: 3, hint: 'x' })
  })

  it('left out are written as their default', () => {
    expect(encode(schema, {}, 1)).toBe('0005')
    expect(encode(schema, {}, 2)).toBe('00060000')
  })

  it('that the version lacks are refused by name, unless they have their default or may be dropped', () => {
    expect(() => encode(schema, { late: 3 }, 1)).toThrow(new EncodeError('late cannot be told in version 1'))
    expect(() => encode(schema, { early: 3 }, 2)).toThrow(new EncodeError('early cannot be told in version 2'))
    expect(encode(schema, { late: 6, hint: 'dropped' }, 1)).toBe('0005')
  })
})

describe('null', () => {
  const schema = struct({
    text: string().nullable(1),
    data: bytes().nullable(1),
    batches: records().nullable(1),
    list: array(int8()).nullable(1),
  })
  const nothing = { text: null, data: null, batches: null, list: null }

  it('has a length of its own, old and compact', () => {
    expect(encode(schema, nothing, 1)).toBe('ffffffffffffffffffffffffffff')
    expect(decode(schema, 'ffffffffffffffffffffffffffff', 1)).toEqual(nothing)
    expect(encode(schema, nothing, 1, true)).toBe('0000000000')
    expect(decode(schema, '0000000000', 1, true)).toEqual(nothing)
  })

  it('is refused where it may not be, both ways', () => {
    for (const name of ['text', 'data', 'batches', 'list']) {
      expect(() => encode(schema, { [name]: null }, 0)).toThrow(new EncodeError(`${name} may not be null in version 0`))
    }
    expect(() => decode(schema, 'ffff', 0)).toThrow(ByteError)
    expect(() => decode(schema, '0000ffffffff', 0)).toThrow(ByteError)
    expect(() => decode(schema, '00', 0, true)).toThrow(ByteError)
  })

  it('as a struct has a byte in front; as a tagged struct another', () => {
    const plain = struct({ inner: struct({ x: int8() }).nullable().default(null) })
    expect(encode(plain, {})).toBe('ff')
    expect(decode(plain, 'ff')).toEqual({ inner: null })
    expect(encode(plain, { inner: { x: 7 } })).toBe('0107')
    expect(decode(plain, '0107')).toEqual({ inner: { x: 7 } })
    const tagged = struct({ inner: struct({ x: int8() }).nullable().tagged(0, 0) })
    expect(encode(tagged, { inner: null }, 0, true)).toBe('01000100')
    expect(decode(tagged, '01000100', 0, true)).toEqual({ inner: null })
    expect(encode(tagged, { inner: { x: 7 } }, 0, true)).toBe('010003010700')
    expect(decode(tagged, '010003010700', 0, true)).toEqual({ inner: { x: 7 } })
    expect(encode(tagged, {}, 0, true)).toBe('00')
    expect(decode(tagged, '00', 0, true)).toEqual({ inner: { x: 0 } })
  })
})

describe('tags', () => {
  const schema = struct({
    second: int8().tagged(1, 0).default(-1),
    plain: int8(),
    first: array(int8()).tagged(0, 0),
  })

  it('stand at the end, ascending, and only when not at their default', () => {
    expect(encode(schema, { plain: 9 }, 0, true)).toBe('0900')
    expect(encode(schema, { plain: 9, first: [], second: -1 }, 0, true)).toBe('0900')
    expect(encode(schema, { plain: 9, first: [4], second: 5 }, 0, true)).toBe('090200020204010105')
    expect(decode(schema, '090200020204010105', 0, true)).toEqual({ plain: 9, first: [4], second: 5 })
    expect(decode(schema, '0900', 0, true)).toEqual({ plain: 9, first: [], second: -1 })
  })

  it('that nobody knows are passed over, wherever they stand', () => {
    expect(decode(schema, '0902010105ac0203aabbcc', 0, true)).toEqual({ plain: 9, first: [], second: 5 })
    expect(decode(schema, '09010502aabb', 0, true)).toEqual({ plain: 9, first: [], second: -1 })
    expect(decode(schema, '09020502aabb010105', 0, true)).toEqual({ plain: 9, first: [], second: 5 })
  })

  it('of a version to come are passed over too', () => {
    const later = struct({ x: int8().tagged(0, 2).default(1) })
    expect(decode(later, '01000107', 1, true)).toEqual({ x: 1 })
    expect(decode(later, '01000107', 2, true)).toEqual({ x: 7 })
  })

  it.each([
    ['shorter than their field', '0901010005'],
    ['longer than their field', '090101020500'],
    ['longer than what is left', '0901010505'],
    ['unknown and longer than what is left', '0901050505'],
    ['fewer than they say', '0902010105'],
    ['more than fit into 32 bits', '09ffffffffff01'],
  ])('%s are refused', (_what, hex) => expect(() => decode(schema, hex, 0, true)).toThrow(ByteError))

  it('are closed after each struct in an array, but not after numbers and strings', () => {
    const list = struct({ structs: array(struct({ x: int8() })), numbers: array(int8()), texts: array(string()) })
    const value = { structs: [{ x: 1 }, { x: 2 }], numbers: [3], texts: ['a'] }
    expect(encode(list, value, 0, true)).toBe('0301000200020302026100')
    expect(decode(list, '0301000200020302026100', 0, true)).toEqual(value)
  })
})

describe('defaults', () => {
  it('are fresh for each message, so that nobody shares what somebody changes', () => {
    const schema = struct({ list: array(int8()).since(1), inner: struct({ list: array(int8()) }).since(1) })
    const first = decode(schema, '')
    first.list.push(1)
    first.inner.list.push(1)
    expect(decode(schema, '')).toEqual({ list: [], inner: { list: [] } })
  })

  it('of a struct are those of its fields', () => {
    const schema = struct({ leader: struct({ id: int32().default(-1) }).tagged(0, 0) })
    expect(encode(schema, { leader: { id: -1 } }, 0, true)).toBe('00')
    expect(encode(schema, { leader: {} }, 0, true)).toBe('00')
    expect(decode(schema, '00', 0, true)).toEqual({ leader: { id: -1 } })
  })
})

describe('values', () => {
  const numbers = struct({
    int8: int8(),
    int16: int16(),
    uint16: uint16(),
    int32: int32(),
    uint32: uint32(),
    int64: int64(),
  })

  it.each([
    ['int8', -0x80, 0x7f],
    ['int16', -0x8000, 0x7fff],
    ['uint16', 0, 0xffff],
    ['int32', -0x80000000, 0x7fffffff],
    ['uint32', 0, 0xffffffff],
    ['int64', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('%s comes back from %d to %d, and beyond is refused by name', (name, min, max) => {
    for (const value of [min, max])
      expect(decode(numbers, encode(numbers, { [name]: value }))).toMatchObject({ [name]: value })
    for (const value of [min - 1, max + 1, 0.5, Number.NaN]) {
      expect(() => encode(numbers, { [name]: value })).toThrow(new EncodeError(`${name} is out of range: ${value}`))
    }
  })

  it('booleans, doubles and uuids', () => {
    const schema = struct({ on: bool(), ratio: float64(), id: uuid() })
    const value = { on: true, ratio: 0.25, id: 'AQIDBAUGBwiImaq7zN3u_w' }
    expect(encode(schema, value)).toBe('013fd000000000000001020304050607088899aabbccddeeff')
    expect(decode(schema, encode(schema, value))).toEqual(value)
    expect(decode(schema, encode(schema, {})).id).toBe('AAAAAAAAAAAAAAAAAAAAAA')
    expect(() => encode(schema, { id: 'orders' })).toThrow(new EncodeError('id is not a uuid: orders'))
  })

  it('strings of up to 32767 bytes, counted in UTF-8', () => {
    const schema = struct({ text: string() })
    for (const flexible of [false, true]) {
      for (const text of ['x'.repeat(32767), `${'é'.repeat(16383)}x`]) {
        expect(decode(schema, encode(schema, { text }, 0, flexible), 0, flexible)).toEqual({ text })
      }
      expect(() => encode(schema, { text: 'é'.repeat(16384) }, 0, flexible)).toThrow(
        new EncodeError('text is too long: 32768 bytes, at most 32767'),
      )
    }
    expect(() => decode(schema, `818002${'78'.repeat(32768)}00`, 0, true)).toThrow('string of 32768 bytes')
  })

  it('a string that is fixed stays as it was in flexible versions', () => {
    expect(encode(struct({ text: string().nullable().fixed() }), { text: 'a' }, 0, true)).toBe('00016100')
  })

  it('records are put in without a copy, in one part or several, and read as a view', () => {
    const schema = struct({ before: int8(), batches: records(), after: int8() })
    const batch = Uint8Array.of(1, 2, 3)
    const writer = new ByteWriter()
    writeStruct(schema, 0, false, writer, { before: 8, batches: [batch, batch], after: 9 })
    expect(writer.parts()[1]).toBe(batch)
    const received = writer.finish()
    expect(Buffer.from(received).toString('hex')).toBe('080000000601020301020309')
    const value = readStruct(schema, 0, false, new ByteReader(received))
    expect(value.batches.buffer).toBe(received.buffer)
    expect(encode(schema, { batches: batch })).toBe('000000000301020300')
  })

  it('bytes are copied when read, so they outlive the receive buffer', () => {
    const schema = struct({ data: bytes() })
    const received = Buffer.from('00000002aabb', 'hex')
    const { data } = readStruct(schema, 0, false, new ByteReader(received))
    received.fill(0xee)
    expect([...data]).toEqual([0xaa, 0xbb])
  })
})

describe('lengths are held against the bytes that remain before anything is allocated', () => {
  const TWO_GB = '7fffffff'
  const COMPACT = 'ffffffff0f'

  it.each<[string, Struct<Fields>]>([
    ['string', struct({ field: string() })],
    ['bytes', struct({ field: bytes() })],
    ['records', struct({ field: records() })],
    ['array of bytes', struct({ field: array(int8()) })],
    ['array of structs', struct({ field: array(struct({ x: int64() })) })],
    ['array of arrays', struct({ field: array(array(int32())) })],
  ])('%s', (name, schema) => {
    const before = process.memoryUsage()
    for (let round = 0; round < 100; round++) {
      const hex = name === 'string' ? '7fff0000' : `${TWO_GB}0000`
      expect(() => decode(schema, hex)).toThrow(ByteError)
      expect(() => decode(schema, `${COMPACT}0000`, 0, true)).toThrow(ByteError)
    }
    const after = process.memoryUsage()
    const grown = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers
    expect(grown).toBeLessThan(50_000_000)
  })

  it('an array whose elements take no bytes cannot promise any number of them', () => {
    const schema = struct({ field: array(struct({ x: int8().since(1) })) })
    expect(() => decode(schema, '7fffffff0000')).toThrow('array of 2147483647, 2 bytes left')
  })

  it('nested arrays cannot promise more than the bytes hold', () => {
    const schema = struct({ field: array(array(array(int8()))) })
    expect(() => decode(schema, '00000001000000010000ffff00')).toThrow(ByteError)
  })

  it('an array of exactly the bytes that are left is read', () => {
    expect(decode(struct({ field: array(int8()) }), '00000003010203')).toEqual({ field: [1, 2, 3] })
    expect(() => decode(struct({ field: array(int8()) }), '00000004010203')).toThrow(ByteError)
  })
})

describe('messages', () => {
  const definition = message({
    name: 'Example',
    versions: [1, 3],
    flexible: 3,
    body: struct({
      a: int8(),
      b: int8().since(2).ignorable(),
      c: string().since(3).ignorable(),
      d: bool().since(3).until(3).ignorable(),
    }),
  })

  it('are flexible from their version on', () => {
    expect([1, 2, 3, 4].map(version => isFlexible(definition, version))).toEqual([false, false, true, true])
    expect(isFlexible({ flexible: undefined }, 9)).toBe(false)
    expect(Buffer.from(encodeMessage(definition, 3, { a: 1, b: 2, c: 'x' })).toString('hex')).toBe('010202780000')
    expect(decodeMessage(definition, 3, new ByteReader(Buffer.from('010202780000', 'hex')))).toEqual({
      a: 1,
      b: 2,
      c: 'x',
      d: false,
    })
  })

  it('with their version in front are read by it', () => {
    for (const version of [1, 2, 3]) {
      const bytes = encodeVersioned(definition, version, { a: 1, b: 2, c: 'x' })
      expect(bytes[1]).toBe(version)
      expect(decodeVersioned(definition, bytes)).toEqual({
        a: 1,
        b: version < 2 ? 0 : 2,
        c: version < 3 ? '' : 'x',
        d: false,
      })
    }
  })

  it('of a version to come are read with the newest layout, what is new at the end left alone', () => {
    expect(decodeVersioned(definition, Buffer.from('00090102027801000000', 'hex'))).toEqual({
      a: 1,
      b: 2,
      c: 'x',
      d: true,
    })
  })

  it('of a version before the first are refused', () => {
    expect(() => decodeVersioned(definition, Buffer.from('000001', 'hex'))).toThrow(ByteError)
    expect(() => decodeVersioned(definition, Buffer.from('ffff01', 'hex'))).toThrow(ByteError)
    expect(() => decodeVersioned(definition, Buffer.from('00', 'hex'))).toThrow(ByteError)
  })
})
