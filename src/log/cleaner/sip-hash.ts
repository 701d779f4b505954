/**
 * SipHash-2-4 with 128 bits of result: the hash under which the cleaner knows keys. Two keys of one hash would be one key to it,
 * and the older one's value lost. Kafka takes MD5 for that. With a secret that is drawn anew for each cleaning nobody who can write
 * keys can make two that collide, which holds neither of MD5 nor of faster hashes; and 32-bit arithmetic is enough for it.
 */

/** The four 32-bit words of a hash. */
export type Hash128 = Uint32Array

export class SipHash {
  readonly #k0: number
  readonly #k1: number
  readonly #k2: number
  readonly #k3: number

  /** @param secret four 32-bit words, those of the 128-bit key from its first byte on */
  constructor(secret: readonly [number, number, number, number]) {
    ;[this.#k0, this.#k1, this.#k2, this.#k3] = secret
  }

  /** Writes the hash of `bytes[start, end)` into `out`. */
  hash(bytes: Uint8Array, start: number, end: number, out: Hash128): void {
    const k0 = this.#k0
    const k1 = this.#k1
    const k2 = this.#k2
    const k3 = this.#k3
    state[0] = k0 ^ 0x70736575
    state[1] = k1 ^ 0x736f6d65
    state[2] = k2 ^ 0x6e646f6d ^ 0xee
    state[3] = k3 ^ 0x646f7261
    state[4] = k0 ^ 0x6e657261
    state[5] = k1 ^ 0x6c796765
    state[6] = k2 ^ 0x79746573
    state[7] = k3 ^ 0x74656462
    const length = end - start
    const last = start + (length & ~7)
    let at = start
    for (; at < last; at += 8) absorb(word(bytes, at), word(bytes, at + 4))
    let low = 0
    let high = length << 24
    for (let left = (length & 7) - 1; left >= 0; left--) {
      if (left >= 4) high |= bytes[at + left] << (8 * (left - 4))
      else low |= bytes[at + left] << (8 * left)
    }
    absorb(low, high)
    state[4] ^= 0xee
    rounds(4)
    out[0] = state[0] ^ state[2] ^ state[4] ^ state[6]
    out[1] = state[1] ^ state[3] ^ state[5] ^ state[7]
    state[2] ^= 0xdd
    rounds(4)
    out[2] = state[0] ^ state[2] ^ state[4] ^ state[6]
    out[3] = state[1] ^ state[3] ^ state[5] ^ state[7]
  }
}

/** v0 to v3, each as its low and its high half. Nothing here is re-entrant, so one is enough. */
const state = new Int32Array(8)

function word(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
}

function absorb(low: number, high: number): void {
  state[6] ^= low
  state[7] ^= high
  rounds(2)
  state[0] ^= low
  state[1] ^= high
}

function rounds(count: number): void {
  let v0 = state[0]
  let w0 = state[1]
  let v1 = state[2]
  let w1 = state[3]
  let v2 = state[4]
  let w2 = state[5]
  let v3 = state[6]
  let w3 = state[7]
  for (let round = 0; round < count; round++) {
    // v0 += v1; v1 = v1 <<< 13 ^ v0; v0 = v0 <<< 32
    let sum = (v0 + v1) | 0
    w0 = (w0 + w1 + carry(v0, sum)) | 0
    v0 = sum
    let low = (v1 << 13) | (w1 >>> 19)
    w1 = ((w1 << 13) | (v1 >>> 19)) ^ w0
    v1 = low ^ v0
    low = v0
    v0 = w0
    w0 = low
    // v2 += v3; v3 = v3 <<< 16 ^ v2
    sum = (v2 + v3) | 0
    w2 = (w2 + w3 + carry(v2, sum)) | 0
    v2 = sum
    low = (v3 << 16) | (w3 >>> 16)
    w3 = ((w3 << 16) | (v3 >>> 16)) ^ w2
    v3 = low ^ v2
    // v0 += v3; v3 = v3 <<< 21 ^ v0
    sum = (v0 + v3) | 0
    w0 = (w0 + w3 + carry(v0, sum)) | 0
    v0 = sum
    low = (v3 << 21) | (w3 >>> 11)
    w3 = ((w3 << 21) | (v3 >>> 11)) ^ w0
    v3 = low ^ v0
    // v2 += v1; v1 = v1 <<< 17 ^ v2; v2 = v2 <<< 32
    sum = (v2 + v1) | 0
    w2 = (w2 + w1 + carry(v2, sum)) | 0
    v2 = sum
    low = (v1 << 17) | (w1 >>> 15)
    w1 = ((w1 << 17) | (v1 >>> 15)) ^ w2
    v1 = low ^ v2
    low = v2
    v2 = w2
    w2 = low
  }
  state[0] = v0
  state[1] = w0
  state[2] = v1
  state[3] = w1
  state[4] = v2
  state[5] = w2
  state[6] = v3
  state[7] = w3
}

/** 1 when adding to `before` gave `sum` and went beyond 32 bits. */
function carry(before: number, sum: number): number {
  return sum >>> 0 < before >>> 0 ? 1 : 0
}
