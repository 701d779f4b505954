/**
 * Keeps the indexes of old segments that were read lately, and drops the others: memory does not grow with what lies on the
 * disk. One for all logs of a broker. What is dropped is read from its files again when somebody needs it.
 */

/** What can be dropped. */
export interface CachedIndexes {
  /** Set by whoever uses it; a second chance before it is dropped. */
  recentlyUsed: boolean
  readonly sizeInBytes: number
  /** Drops it. False when that is not possible now. */
  unload(): boolean
}

/** A broker's indexes of old segments: those of some 8 GB of segments. */
const DEFAULT_BYTES = 32 * 1024 * 1024

export class IndexCache {
  readonly #maxBytes: number
  /** With the size that each was counted with, in the order in which they were added. */
  readonly #entries = new Map<CachedIndexes, number>()
  #bytes = 0

  constructor(maxBytes = DEFAULT_BYTES) {
    this.#maxBytes = maxBytes
  }

  get sizeInBytes(): number {
    return this.#bytes
  }

  /** Takes care of indexes that were loaded, and drops others if there are too many. */
  add(indexes: CachedIndexes): void {
    this.remove(indexes)
    this.#put(indexes)
    // Each is looked at twice at most: once for its second chance.
    for (let left = this.#entries.size * 2; this.#bytes > this.#maxBytes && left > 0; left--) {
      const [oldest] = this.#entries.keys()
      if (oldest === indexes) {
        if (this.#entries.size === 1) return
        this.remove(oldest)
        this.#put(oldest)
        continue
      }
      this.remove(oldest)
      if (oldest.recentlyUsed || !oldest.unload()) {
        oldest.recentlyUsed = false
        this.#put(oldest)
      }
    }
  }

  /** Forgets indexes without dropping them: their segment is gone, or written to again. */
  remove(indexes: CachedIndexes): void {
    this.#bytes -= this.#entries.get(indexes) ?? 0
    this.#entries.delete(indexes)
  }

  #put(indexes: CachedIndexes): void {
    const size = indexes.sizeInBytes
    this.#entries.set(indexes, size)
    this.#bytes += size
  }
}
