import { StorageError } from './storage.ts'

/**
 * Counts what the files of memory storages take, and may take, together. Slabs of bytes that several files share, such as
 * the replicas of one partition, are counted once, until the last file has let go of them.
 */
export class MemoryMeter {
  readonly max: number
  #used = 0
  /** How many chunks lie in each slab. */
  readonly #references = new Map<ArrayBufferLike, number>()

  /** @param max bytes; no limit by default */
  constructor(max = Number.POSITIVE_INFINITY) {
    this.max = max
  }

  get used(): number {
    return this.#used
  }

  get room(): number {
    return this.max - this.#used
  }

  /** True when this slab is counted already, so that to share it costs nothing. */
  has(slab: ArrayBufferLike): boolean {
    return this.#references.has(slab)
  }

  /** @throws StorageError OVER_LIMIT when `bytes` more are more than there may be */
  demand(bytes: number): void {
    if (bytes <= this.room) return
    throw new StorageError('OVER_LIMIT', `no space: ${this.#used} of ${this.max} bytes are used, ${bytes} more needed`)
  }

  take(slab: ArrayBufferLike): void {
    const references = this.#references.get(slab) ?? 0
    if (references === 0) this.#used += slab.byteLength
    this.#references.set(slab, references + 1)
  }

  release(slab: ArrayBufferLike): void {
    const references = this.#references.get(slab) ?? 0
    if (references > 1) {
      this.#references.set(slab, references - 1)
    } else if (references === 1) {
      this.#references.delete(slab)
      this.#used -= slab.byteLength
    }
  }
}
