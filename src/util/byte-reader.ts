import { utf8Decode } from './utf8.ts'

/** What {@link ByteReader} throws when the bytes end too early or say something impossible. */
export class ByteError extends Error {
  override readonly name = 'ByteError'
}

const TWO_32 = 0x100000000

/**
 * A cursor over bytes, big-endian. Every read checks the bounds and throws {@link ByteError}; nothing is allocated
 * before its length was held against the bytes that remain.
 */
export class ByteReader {
  readonly bytes: Uint8Array
  position: number
  readonly end: number
  /** How many elements of lists may still be read: a list of the smallest takes much more room than its bytes. */
  elementsLeft = Number.POSITIVE_INFINITY

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes
    this.position = start
    this.end = end
  }

  get remaining(): number {
    return this.end - this.position
  }

  /** Moves on by `length` bytes and returns where they begin. */
  skip(length: number): number {
    const start = this.position
    if (length < 0 || length > this.end - start) {
      throw new ByteError(`need ${length} bytes at ${start}, have ${this.end - start}`)
    }
    this.position = start + length
    return start
  }

  int8(): number {
    return (this.bytes[this.skip(1)] << 24) >> 24
  }

  uint8(): number {
    return this.bytes[this.skip(1)]
  }

  int16(): number {
    const at = this.skip(2)
    return (((this.bytes[at] << 8) | this.bytes[at + 1]) << 16) >> 16
  }

  uint16(): number {
    const at = this.skip(2)
    return (this.bytes[at] << 8) | this.bytes[at + 1]
  }

  int32(): number {
    const at = this.skip(4)
    const { bytes } = this
    return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]
  }

  uint32(): number {
    return this.int32() >>> 0
  }

  /** A signed 64-bit integer, saturated at ±(2^53 − 1): see docs/decisions on int64. */
  int64(): number {
    const high = this.int32()
    const low = this.int32() >>> 0
    return saturate(high * TWO_32 + low)
  }

  float64(): number {
    const at = this.skip(8)
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + at, 8).getFloat64(0)
  }

  /** Base-128, little end first, unsigned, at most five bytes. */
  uvarint(): number {
    let value = 0
    let shift = 0
    for (;;) {
      const byte = this.uint8()
      if (shift === 28 && byte > 0x0f) throw new ByteError('uvarint over 32 bits')
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
      shift += 7
      if (shift > 28) throw new ByteError('uvarint over five bytes')
    }
  }

  /** Zig-zag, 32 bits, at most five bytes. */
  varint(): number {
    let raw = 0
    let shift = 0
    for (;;) {
      const byte = this.uint8()
      raw |= (byte & 0x7f) << shift
      if (byte < 0x80) break
      shift += 7
      if (shift > 28) throw new ByteError('varint over five bytes')
    }
    return (raw >>> 1) ^ -(raw & 1)
  }

  /** Zig-zag, 64 bits, at most ten bytes; saturated like {@link int64}. */
  varlong(): number {
    // 28 bits at a time, so that each part stays an exact integer.
    let low = 0
    let middle = 0
    let high = 0
    for (let index = 0; ; index++) {
      if (index === 10) throw new ByteError('varlong over ten bytes')
      const byte = this.uint8()
      const bits = byte & 0x7f
      // Most are short: they need no arithmetic beyond 32 bits.
      if (byte < 0x80 && index < 4) {
        low |= bits << (7 * index)
        return (low >>> 1) ^ -(low & 1)
      }
      if (index < 4) low |= bits << (7 * index)
      else if (index < 8) middle |= bits << (7 * (index - 4))
      else high |= bits << (7 * (index - 8))
      if (byte < 0x80) break
    }
    const negative = (low & 1) === 1
    const magnitude = (high & 0xff) * 2 ** 55 + middle * 2 ** 27 + (low >>> 1)
    return saturate(negative ? -magnitude - 1 : magnitude)
  }

  /** A view, not a copy: it dies with the buffer it was read from. */
  view(length: number): Uint8Array {
    const at = this.skip(length)
    return this.bytes.subarray(at, at + length)
  }

  /** A copy that may be kept. (Not by `slice`, which gives a view where the platform's buffers stand in for bytes.) */
  copy(length: number): Uint8Array {
    const view = this.view(length)
    const copy = new Uint8Array(length)
    copy.set(view)
    return copy
  }

  utf8(length: number): string {
    const at = this.skip(length)
    return utf8Decode(this.bytes, at, at + length)
  }
}

function saturate(value: number): number {
  if (value > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER
  if (value < -Number.MAX_SAFE_INTEGER) return -Number.MAX_SAFE_INTEGER
  return value
}
