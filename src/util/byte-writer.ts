import { assert } from './assert.ts'
import { utf8Length, utf8Write } from './utf8.ts'

const TWO_32 = 0x100000000
/** What a writer begins with; most responses need no more. */
const FIRST_CHUNK = 512
const SLAB = 64 * 1024

/** Small chunks are cut from a common slab, since a typed array of its own costs more than what is written into it. */
let slab = new Uint8Array(SLAB)
let slabUsed = 0

/**
 * Builds bytes, big-endian, as a list of parts: what is written goes into growing chunks of its own, and large byte
 * ranges (record batches) are put in between as they are, without a copy.
 */
export class ByteWriter {
  #chunk: Uint8Array
  /** Where the chunk begins for this writer. */
  #base: number
  /** Where what is not in {@link #parts} yet begins. */
  #start: number
  #position: number
  /** Where the chunk ends for this writer. */
  #limit: number
  #parts: Uint8Array[] = []
  #partsLength = 0

  /** @param capacity how much is likely to be written; a guess that is too low costs a copy */
  constructor(capacity = FIRST_CHUNK) {
    if (capacity > FIRST_CHUNK) {
      this.#chunk = new Uint8Array(capacity)
      this.#base = 0
      this.#start = 0
      this.#position = 0
      this.#limit = capacity
      return
    }
    if (slabUsed + FIRST_CHUNK > SLAB) {
      slab = new Uint8Array(SLAB)
      slabUsed = 0
    }
    this.#chunk = slab
    this.#base = slabUsed
    this.#start = slabUsed
    this.#position = slabUsed
    slabUsed += FIRST_CHUNK
    this.#limit = slabUsed
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#partsLength + this.#position - this.#start
  }

  /** Makes room for `length` bytes and returns where they go in the present chunk. */
  #reserve(length: number): number {
    const at = this.#position
    if (at + length > this.#limit) {
      this.#grow(length)
      return this.#reserve(length)
    }
    this.#position = at + length
    return at
  }

  #grow(length: number): void {
    const used = this.#position - this.#start
    const bigger = new Uint8Array(Math.max((this.#limit - this.#start) * 2, used + length, 2 * FIRST_CHUNK))
    bigger.set(this.#chunk.subarray(this.#start, this.#position))
    this.#chunk = bigger
    this.#base = 0
    this.#start = 0
    this.#position = used
    this.#limit = bigger.length
  }

  int8(value: number): void {
    const at = this.#reserve(1)
    this.#chunk[at] = value
  }

  int16(value: number): void {
    const at = this.#reserve(2)
    const chunk = this.#chunk
    chunk[at] = value >> 8
    chunk[at + 1] = value
  }

  int32(value: number): void {
    const at = this.#reserve(4)
    const chunk = this.#chunk
    chunk[at] = value >> 24
    chunk[at + 1] = value >> 16
    chunk[at + 2] = value >> 8
    chunk[at + 3] = value
  }

  /** Refuses what is not an exact integer: see docs/decisions on int64. */
  int64(value: number): void {
    assert(Number.isSafeInteger(value), `int64 out of range: ${value}`)
    const high = Math.floor(value / TWO_32)
    this.int32(high)
    this.int32(value - high * TWO_32)
  }

  float64(value: number): void {
    const at = this.#reserve(8)
    new DataView(this.#chunk.buffer, this.#chunk.byteOffset + at, 8).setFloat64(0, value)
  }

  uvarint(value: number): void {
    value >>>= 0
    while (value > 0x7f) {
      this.int8((value & 0x7f) | 0x80)
      value >>>= 7
    }
    this.int8(value)
  }

  varint(value: number): void {
    this.uvarint((value << 1) ^ (value >> 31))
  }

  varlong(value: number): void {
    assert(Number.isSafeInteger(value), `varlong out of range: ${value}`)
    if (value >= -0x40000000 && value < 0x40000000) return this.varint(value)
    // Zig-zag in two exact halves: 2 * value, or -2 * value - 1, needs up to 54 bits.
    const magnitude = value < 0 ? -value - 1 : value
    let low = (magnitude % 0x4000000) * 2 + (value < 0 ? 1 : 0)
    let high = Math.floor(magnitude / 0x4000000)
    for (;;) {
      const bits = low & 0x7f
      low = (low >>> 7) | ((high & 0x7f) << 20)
      high = Math.floor(high / 0x80)
      if (low === 0 && high === 0) return this.int8(bits)
      this.int8(bits | 0x80)
    }
  }

  /** Copies `bytes` in. */
  bytes(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length)
    this.#chunk.set(bytes, at)
  }

  /** Puts `bytes` in as a part of its own, without a copy; it must not change until the parts are gone. */
  part(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#closePart()
    this.#parts.push(bytes)
    this.#partsLength += bytes.length
  }

  utf8(text: string, length = utf8Length(text)): void {
    const at = this.#reserve(length)
    utf8Write(text, this.#chunk, at)
  }

  #closePart(): void {
    if (this.#position === this.#start) return
    this.#parts.push(this.#chunk.subarray(this.#start, this.#position))
    this.#partsLength += this.#position - this.#start
    this.#start = this.#position
  }

  /** Forgets everything, and goes on in the same memory: for one who has used up what {@link finish} gave. */
  clear(): void {
    this.#start = this.#base
    this.#position = this.#base
    this.#parts = []
    this.#partsLength = 0
  }

  /** Everything written, in order. */
  parts(): Uint8Array[] {
    this.#closePart()
    // What was not needed goes back, if nobody has cut from the slab since.
    if (this.#chunk === slab && this.#limit === slabUsed) {
      slabUsed = this.#position
      this.#limit = this.#position
    }
    return this.#parts
  }

  /** Everything written, as one range of bytes. */
  finish(): Uint8Array {
    const parts = this.parts()
    return parts.length === 1 ? parts[0] : concat(parts, this.#partsLength)
  }
}

/** Joins byte ranges into a new one. */
export function concat(parts: readonly Uint8Array[], length = totalLength(parts)): Uint8Array {
  const bytes = new Uint8Array(length)
  let position = 0
  for (const part of parts) {
    bytes.set(part, position)
    position += part.length
  }
  return bytes
}

export function totalLength(parts: readonly Uint8Array[]): number {
  let length = 0
  for (const part of parts) length += part.length
  return length
}
