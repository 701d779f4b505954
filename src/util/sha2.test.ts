import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hmac, SHA_256, SHA_512 } from './sha2.ts'

/** Bytes without a pattern that a block could repeat. */
function bytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 167 + (at >> 3)) & 0xff)
}

const hex = (digest: Uint8Array) => Buffer.from(digest).toString('hex')

describe.each([
  ['sha256', SHA_256],
  ['sha512', SHA_512],
] as const)('%s', (name, hash) => {
  it('agrees with OpenSSL at every length around the ends of blocks', () => {
    for (let length = 0; length <= 2 * hash.blockLength + 1; length++) {
      expect(hex(hash.digest(bytes(length))), String(length)).toBe(createHash(name).update(bytes(length)).digest('hex'))
    }
  })

  it('HMAC agrees with OpenSSL, with keys shorter and longer than a block', () => {
    for (const length of [1, 20, hash.blockLength - 1, hash.blockLength, hash.blockLength + 1, 300]) {
      const message = bytes(50)
      expect(hex(hmac(hash, bytes(length), message))).toBe(
        createHmac(name, bytes(length)).update(message).digest('hex'),
      )
    }
  })

  it('says how long a digest is', () => {
    expect(hash.digest(bytes(3))).toHaveLength(hash.length)
  })
})
