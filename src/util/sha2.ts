/**
 * SHA-256, SHA-512 (FIPS 180-4) and HMAC (RFC 2104), for what is hashed now and then: the keys of SCRAM credentials. One
 * algorithm over words of 32 or 64 bits, in bigint: short, and slow (some hundred kB a second). Nothing here is for bulk data.
 */

export interface Hash {
  /** How many bytes a digest has. */
  readonly length: number
  readonly blockLength: number
  digest(bytes: Uint8Array): Uint8Array
}

/** What differs between the two: the width of a word, how many rounds there are, by how much is rotated and shifted. */
interface Variant {
  readonly wordBits: number
  readonly rounds: number
  readonly sum0: Rotations
  readonly sum1: Rotations
  readonly sigma0: Rotations
  readonly sigma1: Rotations
}

/** Two or three rotations; in the sigmas the third is a shift. */
type Rotations = readonly [bigint, bigint, bigint]

/** The whole root of `value`, rounded down, by Newton's method. */
function root(value: bigint, degree: bigint): bigint {
  let guess = 1n << (BigInt(value.toString(2).length) / degree + 1n)
  while (true) {
    const next = ((degree - 1n) * guess + value / guess ** (degree - 1n)) / degree
    if (next >= guess) return guess
    guess = next
  }
}

function primes(count: number): bigint[] {
  const found: bigint[] = []
  for (let candidate = 2n; found.length < count; candidate++) {
    if (found.every(prime => candidate % prime !== 0n)) found.push(candidate)
  }
  return found
}

/** The first `bits` bits behind the point of the roots of the first primes: where the standard takes its constants from. */
function fractions(count: number, degree: bigint, bits: number): bigint[] {
  const width = BigInt(bits)
  return primes(count).map(prime => BigInt.asUintN(bits, root(prime << (width * degree), degree)))
}

function sha2({ wordBits, rounds, sum0, sum1, sigma0, sigma1 }: Variant): Hash {
  const wordBytes = wordBits / 8
  const blockLength = wordBytes * 16
  const width = BigInt(wordBits)
  const word = (value: bigint) => BigInt.asUintN(wordBits, value)
  const rotate = (value: bigint, by: bigint) => word((value >> by) | (value << (width - by)))
  const sum = (value: bigint, [a, b, c]: Rotations) => rotate(value, a) ^ rotate(value, b) ^ rotate(value, c)
  const sigma = (value: bigint, [a, b, shift]: Rotations) => rotate(value, a) ^ rotate(value, b) ^ (value >> shift)
  // Worked out when first needed: most brokers never hash anything.
  let constants: bigint[] | undefined
  let start: bigint[] | undefined

  /** One block, taken into the state. */
  function compress(state: bigint[], block: Uint8Array): bigint[] {
    const schedule = wordsOf(block, wordBytes)
    for (let at = 16; at < rounds; at++) {
      const next = sigma(schedule[at - 2], sigma1) + schedule[at - 7] + sigma(schedule[at - 15], sigma0)
      schedule.push(word(next + schedule[at - 16]))
    }
    constants ??= fractions(rounds, 3n, wordBits)
    let [a, b, c, d, e, f, g, h] = state
    for (let at = 0; at < rounds; at++) {
      const first = h + sum(e, sum1) + ((e & f) ^ (word(~e) & g)) + constants[at] + schedule[at]
      const second = sum(a, sum0) + ((a & b) ^ (a & c) ^ (b & c))
      ;[a, b, c, d, e, f, g, h] = [word(first + second), a, b, c, word(d + first), e, f, g]
    }
    return [a, b, c, d, e, f, g, h].map((value, at) => word(value + state[at]))
  }

  return {
    length: wordBytes * 8,
    blockLength,
    digest(bytes) {
      const padded = pad(bytes, blockLength)
      start ??= fractions(8, 2n, wordBits)
      let state = start
      for (let at = 0; at < padded.length; at += blockLength) {
        state = compress(state, padded.subarray(at, at + blockLength))
      }
      return bytesOf(state, wordBytes)
    },
  }
}

/** A one, zeros, and the length in bits, to a whole number of blocks. */
function pad(bytes: Uint8Array, blockLength: number): Uint8Array {
  const blocks = Math.ceil((bytes.length + 1 + blockLength / 8) / blockLength)
  const padded = new Uint8Array(blocks * blockLength)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n)
  return padded
}

function wordsOf(bytes: Uint8Array, wordBytes: number): bigint[] {
  const words: bigint[] = []
  for (let at = 0; at < bytes.length; at += wordBytes) {
    let word = 0n
    for (const byte of bytes.subarray(at, at + wordBytes)) word = (word << 8n) | BigInt(byte)
    words.push(word)
  }
  return words
}

function bytesOf(words: readonly bigint[], wordBytes: number): Uint8Array {
  const bytes = new Uint8Array(words.length * wordBytes)
  for (const [index, word] of words.entries()) {
    for (let at = 0; at < wordBytes; at++) {
      bytes[index * wordBytes + at] = Number((word >> BigInt(8 * (wordBytes - 1 - at))) & 0xffn)
    }
  }
  return bytes
}

export const SHA_256: Hash = sha2({
  wordBits: 32,
  rounds: 64,
  sum0: [2n, 13n, 22n],
  sum1: [6n, 11n, 25n],
  sigma0: [7n, 18n, 3n],
  sigma1: [17n, 19n, 10n],
})

export const SHA_512: Hash = sha2({
  wordBits: 64,
  rounds: 80,
  sum0: [28n, 34n, 39n],
  sum1: [14n, 18n, 41n],
  sigma0: [1n, 8n, 7n],
  sigma1: [19n, 61n, 6n],
})

/** The keyed digest of `message`. */
export function hmac(hash: Hash, key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(hash.blockLength)
  block.set(key.length > hash.blockLength ? hash.digest(key) : key)
  const inner = hash.digest(joined(block, 0x36, message))
  return hash.digest(joined(block, 0x5c, inner))
}

/** The block with every byte changed by `mask`, and what follows it. */
function joined(block: Uint8Array, mask: number, rest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(block.length + rest.length)
  bytes.set(block.map(byte => byte ^ mask))
  bytes.set(rest, block.length)
  return bytes
}
