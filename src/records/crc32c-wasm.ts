/**
 * CRC-32C in WebAssembly, for platforms without a native one: two to three times as fast as plain JavaScript on batches of
 * some kilobytes. The module is written here, instruction by instruction, and assembled when it is first wanted (a few
 * milliseconds), so there is neither a toolchain nor an opaque blob. It runs three checksums side by side over
 * neighbouring stretches of the bytes, because one alone waits most of the time for its own last table look-up, and joins
 * them with tables that move a checksum on by a whole stretch.
 */

import { type Crc32c, crc32cJs, makeSlicingTables } from './crc32c.ts'

// The part of WebAssembly that is used; the pure part is compiled without any platform's types.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: object }
}

interface Exports {
  memory: { buffer: ArrayBuffer }
  /** Goes on with checksum `crc` over the memory in [at, end). */
  update(crc: number, at: number, end: number): number
}

/** Bytes of one stretch; three of them are taken at once. */
const STRETCH = 512
/** Where things lie in memory: 8 slicing tables, 4 joining tables, then the bytes. */
const TABLE_SIZE = 1024
const JOIN_TABLES = 8 * TABLE_SIZE
const DATA = JOIN_TABLES + 4 * TABLE_SIZE
const PAGE = 65536
const PAGES = 3
const CAPACITY = PAGES * PAGE - DATA

/** Below this many bytes plain JavaScript wins, because nothing has to be copied. */
const WORTHWHILE = 256

/**
 * Makes a {@link Crc32c}. It owns some 200 kB of memory, through which the bytes are copied.
 *
 * @throws whatever the engine throws when it has no WebAssembly or may not compile.
 */
export function makeCrc32cWasm(): Crc32c {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(assemble()))
  const { memory, update } = instance.exports as Exports
  const slicing = makeSlicingTables()
  const words = new Int32Array(memory.buffer)
  words.set(slicing, 0)
  words.set(makeJoinTables(slicing), JOIN_TABLES / 4)
  const data = new Uint8Array(memory.buffer, DATA, CAPACITY)
  return (bytes, start, end) => {
    if (end - start < WORTHWHILE) return crc32cJs(bytes, start, end)
    let crc = -1
    for (let at = start; at < end; at += CAPACITY) {
      const length = Math.min(CAPACITY, end - at)
      data.set(bytes.subarray(at, at + length))
      crc = update(crc, DATA, DATA + length)
    }
    return ~crc >>> 0
  }
}

/**
 * Four tables that move a checksum on by {@link STRETCH} zero bytes. Moving on is linear, so the effect of a byte is the
 * sum of the effects of its bits.
 */
function makeJoinTables(slicing: Int32Array): Int32Array {
  const tables = new Int32Array(4 * 256)
  for (let bit = 0; bit < 32; bit++) {
    let moved = 1 << bit
    for (let index = 0; index < STRETCH; index++) moved = (moved >>> 8) ^ slicing[moved & 0xff]
    const table = (bit >> 3) * 256
    const place = 1 << (bit & 7)
    // The entries below `place` are complete already: those with this bit are theirs and this bit's effect.
    for (let index = 0; index < place; index++) tables[table + place + index] = tables[table + index] ^ moved
  }
  return tables
}

// What follows writes the module. Opcodes are the WebAssembly core specification's.

const I32 = 0x7f
const VOID_BLOCK = 0x40
const BLOCK = 0x02
const LOOP = 0x03
const END = 0x0b
const BR = 0x0c
const BR_IF = 0x0d
const LOCAL_GET = 0x20
const LOCAL_SET = 0x21
const LOCAL_TEE = 0x22
const I32_LOAD = 0x28
const I32_LOAD8_U = 0x2d
const I32_CONST = 0x41
const I32_LT_U = 0x49
const I32_LT_S = 0x48
const I32_ADD = 0x6a
const I32_SUB = 0x6b
const I32_AND = 0x71
const I32_XOR = 0x73
const I32_SHL = 0x74
const I32_SHR_U = 0x76

// Parameters and locals of `update`.
const CRC = 0
const AT = 1
const TO = 2
const CRC_B = 3
const CRC_C = 4
const LOW = 5
const HIGH = 6
const LIMIT = 7

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
}

function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)]
}

const get = (local: number) => [LOCAL_GET, local]
const set = (local: number) => [LOCAL_SET, local]
const constant = (value: number) => [I32_CONST, ...signed(value)]
/** Loads four bytes; alignment 0 is only a hint, any address works. */
const load = (offset: number) => [I32_LOAD, 0, ...unsigned(offset)]
const section = (id: number, content: number[]) => [id, ...unsigned(content.length), ...content]
const named = (name: string) => [name.length, ...Array.from(name, letter => letter.charCodeAt(0))]

/** Looks byte `index` of a local up in the table at `table`. The shift by two in the address is folded into the mask. */
function lookUp(local: number, index: number, table: number): number[] {
  const shift = index === 0 ? [...constant(2), I32_SHL] : [...constant(8 * index - 2), I32_SHR_U]
  return [...get(local), ...shift, ...constant(0xff << 2), I32_AND, ...load(table)]
}

/** All four bytes of a local, each in its own table, added up: byte 0 goes to the table at `table`, 1 to the one before. */
function lookUpWord(local: number, table: number): number[] {
  return [
    ...lookUp(local, 0, table),
    ...lookUp(local, 1, table - TABLE_SIZE),
    I32_XOR,
    ...lookUp(local, 2, table - 2 * TABLE_SIZE),
    I32_XOR,
    ...lookUp(local, 3, table - 3 * TABLE_SIZE),
    I32_XOR,
  ]
}

/** Eight bytes at `AT + offset` into the checksum in `crc`. */
function eightBytes(crc: number, offset: number): number[] {
  return [
    ...[...get(AT), ...load(offset), ...get(crc), I32_XOR, ...set(LOW)],
    ...[...get(AT), ...load(offset + 4), ...set(HIGH)],
    ...lookUpWord(LOW, 7 * TABLE_SIZE),
    ...lookUpWord(HIGH, 3 * TABLE_SIZE),
    ...[I32_XOR, ...set(crc)],
  ]
}

/** Moves the checksum in CRC on by one stretch and adds the one in `other`. */
function join(other: number): number[] {
  const table = (index: number) => lookUp(CRC, index, JOIN_TABLES + index * TABLE_SIZE)
  return [
    ...[...table(0), ...table(1), I32_XOR, ...table(2), I32_XOR, ...table(3), I32_XOR],
    ...[...get(other), I32_XOR, ...set(CRC)],
  ]
}

const advance = (length: number) => [...get(AT), ...constant(length), I32_ADD, ...set(AT)]
/** `while (TO − AT >= length) body`: branch 1 leaves, branch 0 repeats. */
function whileLeft(length: number, body: number[]): number[] {
  const test = [...get(TO), ...get(AT), I32_SUB, ...constant(length), I32_LT_S, BR_IF, 1]
  return [BLOCK, VOID_BLOCK, LOOP, VOID_BLOCK, ...test, ...body, BR, 0, END, END]
}

function updateBody(): number[] {
  const threeStretches = [
    ...[...constant(0), ...set(CRC_B), ...constant(0), ...set(CRC_C)],
    ...[...get(AT), ...constant(STRETCH), I32_ADD, ...set(LIMIT)],
    ...[LOOP, VOID_BLOCK],
    ...[...eightBytes(CRC, 0), ...eightBytes(CRC_B, STRETCH), ...eightBytes(CRC_C, 2 * STRETCH)],
    ...[...get(AT), ...constant(8), I32_ADD, LOCAL_TEE, AT, ...get(LIMIT), I32_LT_U, BR_IF, 0, END],
    ...[...join(CRC_B), ...join(CRC_C), ...advance(2 * STRETCH)],
  ]
  const oneByte = [
    ...[...get(CRC), ...get(AT), I32_LOAD8_U, 0, 0, I32_XOR, ...set(LOW)],
    ...[...lookUp(LOW, 0, 0), ...get(CRC), ...constant(8), I32_SHR_U, I32_XOR, ...set(CRC)],
    ...advance(1),
  ]
  return [
    ...whileLeft(3 * STRETCH, threeStretches),
    ...whileLeft(8, [...eightBytes(CRC, 0), ...advance(8)]),
    ...whileLeft(1, oneByte),
    ...get(CRC),
    END,
  ]
}

function assemble(): Uint8Array {
  const body = [1, 5, I32, ...updateBody()]
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 3, I32, I32, I32, 1, I32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, PAGES]),
    ...section(7, [2, ...named('memory'), 2, 0, ...named('update'), 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ])
}
