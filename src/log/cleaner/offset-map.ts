/**
 * The offset of the last record of each key, for the keys of the dirty part of a log (Kafka's `SkimpyOffsetMap`). Of a key it keeps
 * 16 bytes of hash and 8 of offset, whatever its length, in a table that never grows: what does not fit waits for the next cleaning.
 * Nothing is ever taken out.
 */

import { SipHash } from './sip-hash.ts'

/** 16 of the hash, 8 of the offset. */
const BYTES_PER_SLOT = 24
/** Typed arrays beyond that are more than some platforms give. */
const MOST_SLOTS = 2 ** 28

export interface OffsetMapOptions {
  /** Drawn anew for each cleaning: see {@link SipHash}. */
  secret: readonly [number, number, number, number]
  /** How many keys there may be at most: the table is made no larger than they need. */
  keys: number
  /** How many bytes the table may take. */
  maxBytes: number
  /** How full it may become, above 0 and at most 1; the fuller, the longer the search. */
  loadFactor: number
}

export class OffsetMap {
  /** Keys that it takes. */
  readonly capacity: number
  readonly #slots: number
  readonly #hashes: Uint32Array
  /** Offset + 1, so that 0 is an empty slot. */
  readonly #offsets: Float64Array
  readonly #hash: SipHash
  readonly #hashed = new Uint32Array(4)
  #size = 0

  constructor({ secret, keys, maxBytes, loadFactor }: OffsetMapOptions) {
    const most = Math.min(MOST_SLOTS, Math.max(2, Math.floor(maxBytes / BYTES_PER_SLOT)))
    // Room for one more than may come in, or a search for a key that is not there would not end.
    this.#slots = Math.min(most, Math.ceil(keys / loadFactor) + 2)
    this.capacity = Math.max(1, Math.min(Math.floor(this.#slots * loadFactor), this.#slots - 1))
    this.#hashes = new Uint32Array(this.#slots * 4)
    this.#offsets = new Float64Array(this.#slots)
    this.#hash = new SipHash(secret)
  }

  get size(): number {
    return this.#size
  }

  get isFull(): boolean {
    return this.#size >= this.capacity
  }

  /** Bytes that the table takes. */
  get bytes(): number {
    return this.#slots * BYTES_PER_SLOT
  }

  /** Notes the offset of a key that lies in `bytes[start, end)`; the last call for a key counts. The map is not full. */
  put(bytes: Uint8Array, start: number, end: number, offset: number): void {
    const slot = this.#find(bytes, start, end)
    if (this.#offsets[slot] === 0) {
      this.#hashes.set(this.#hashed, slot * 4)
      this.#size++
    }
    this.#offsets[slot] = offset + 1
  }

  /** The offset of a key, or −1. */
  get(bytes: Uint8Array, start: number, end: number): number {
    return this.#offsets[this.#find(bytes, start, end)] - 1
  }

  /** The slot of the key, or the empty one where it would go. */
  #find(bytes: Uint8Array, start: number, end: number): number {
    const hashed = this.#hashed
    const hashes = this.#hashes
    const slots = this.#slots
    this.#hash.hash(bytes, start, end, hashed)
    let slot = hashed[0] % slots
    for (;;) {
      if (this.#offsets[slot] === 0) return slot
      const at = slot * 4
      if (
        hashes[at] === hashed[0] &&
        hashes[at + 1] === hashed[1] &&
        hashes[at + 2] === hashed[2] &&
        hashes[at + 3] === hashed[3]
      ) {
        return slot
      }
      if (++slot === slots) slot = 0
    }
  }
}
