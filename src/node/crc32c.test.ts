import { describe, expect, it } from 'vitest'
import { crc32cJs } from '../records/crc32c.ts'
import { chooseCrc32c, nodeCrc32c } from './crc32c.ts'

const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 2_654_435_761) >>> 24)

function missing(): never {
  throw new Error('not there')
}

describe('the CRC-32C of Node', () => {
  it('agrees with plain JavaScript at every length around the switch, and at any place', () => {
    for (let length = 0; length < 600; length++) {
      expect(nodeCrc32c(bytes, length, 2 * length)).toBe(crc32cJs(bytes, length, 2 * length))
    }
    expect(nodeCrc32c(bytes, 1, bytes.length - 1)).toBe(crc32cJs(bytes, 1, bytes.length - 1))
  })

  it('is native, or WebAssembly without the package, or plain JavaScript without both', () => {
    expect(chooseCrc32c(missing, missing)).toBe(crc32cJs)
    for (const crc32c of [chooseCrc32c(), chooseCrc32c(missing)]) {
      expect(crc32c).not.toBe(crc32cJs)
      expect(crc32c(bytes, 3, 90_000)).toBe(crc32cJs(bytes, 3, 90_000))
    }
  })

  it('asks for the package by its name', () => {
    const asked: string[] = []
    chooseCrc32c(name => {
      asked.push(name)
      return { crc32c: () => 42 }
    })
    expect(asked).toEqual(['@node-rs/crc32'])
  })
})
