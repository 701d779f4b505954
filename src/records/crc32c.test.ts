import { describe, expect, it } from 'vitest'
import { loadGolden } from '../../test/golden/load.ts'
import { utf8Encode } from '../util/utf8.ts'
import { type Crc32c, crc32cJs } from './crc32c.ts'
import { makeCrc32cWasm } from './crc32c-wasm.ts'

/** The definition, bit by bit. */
function crc32cByBits(bytes: Uint8Array, start: number, end: number): number {
  let crc = -1
  for (let at = start; at < end; at++) {
    crc ^= bytes[at]
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}

const noise = new Uint8Array(400_000)
let state = 1
for (let at = 0; at < noise.length; at++) noise[at] = (state = Math.imul(state, 1664525) + 1013904223) >>> 24

const implementations: [string, Crc32c][] = [
  ['plain JavaScript', crc32cJs],
  ['WebAssembly', makeCrc32cWasm()],
]

describe.each(implementations)('CRC-32C in %s', (_, crc32c) => {
  it('gives the check value of the standard', () => {
    expect(crc32c(utf8Encode('123456789'), 0, 9)).toBe(0xe3069283)
  })

  it('gives what Kafka gives', () => {
    const lines = loadGolden<{ hex: string; crc32c?: number }>('hashes').filter(line => line.crc32c !== undefined)
    expect(lines.length).toBeGreaterThan(100)
    for (const line of lines) {
      const bytes = Uint8Array.from(line.hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16))
      expect(crc32c(bytes, 0, bytes.length)).toBe(line.crc32c)
    }
  })

  it('is right for every length around the steps it works in, at any alignment', () => {
    for (const around of [0, 8, 256, 1536, 2048, 3072]) {
      for (let length = Math.max(0, around - 9); length < around + 18; length++) {
        const start = length % 11
        expect(crc32c(noise, start, start + length), `${length}`).toBe(crc32cByBits(noise, start, start + length))
      }
    }
  })

  it('is right for more bytes than it takes at once', () => {
    expect(crc32c(noise, 3, noise.length - 2)).toBe(crc32cByBits(noise, 3, noise.length - 2))
  })
})
