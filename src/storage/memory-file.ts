/**
 * The bytes of one file of the memory storage. They lie in chunks that begin small, since most partitions are small, and
 * double up to 1 MiB. A byte that was written is never moved and never overwritten: readers hold views, and other files, such
 * as other replicas of a partition, share the slabs that the chunks lie in. So truncation gives up the rest of a chunk, and
 * writing into the middle copies the chunk first.
 */

import type { MemoryMeter } from './memory-meter.ts'

interface Chunk {
  /** Position in the file of its first byte. */
  readonly start: number
  /** Bytes of this file in it. */
  length: number
  /** Bytes that may be written to it. Less than it has once it was cut: behind that lie bytes somebody may hold. */
  capacity: number
  /** In a slab of its own, or in one that belongs to several. */
  bytes: Uint8Array
  readonly isShared: boolean
}

const FIRST_CHUNK = 4 * 1024
const LARGEST_CHUNK = 1024 * 1024
/** Less than this is copied rather than shared: a chunk for each costs more than it saves. */
const LEAST_SHARED = 1024

export class MemoryFile {
  size = 0
  /** When it was last appended to, as far as those who did so said. */
  modifiedMs: number | undefined
  readonly #meter: MemoryMeter
  #chunks: Chunk[] = []
  #linked = true
  /** Counted, but never refused. */
  readonly #exempt: boolean

  constructor(meter: MemoryMeter, options: { exempt?: boolean } = {}) {
    this.#meter = meter
    this.#exempt = options.exempt ?? false
  }

  /** Appends `parts` of `length` bytes in all, or throws OVER_LIMIT and appends nothing. */
  append(parts: readonly Uint8Array[], length: number): void {
    const last = this.#chunks.at(-1)
    let index = Math.max(0, this.#chunks.length - 1)
    const missing = length - (last ? last.capacity - last.length : 0)
    if (missing > 0) this.#addChunks(missing)
    for (const part of parts) index = this.#put(part, index)
  }

  /**
   * Appends bytes that will never change, such as a read of another file handed out, without copying them: both files hold
   * the same slab. Throws OVER_LIMIT, and appends nothing, when the slab is not counted yet and does not fit.
   */
  share(part: Uint8Array): void {
    const last = this.#chunks.at(-1)
    const goesOn =
      last !== undefined && last.bytes.buffer === part.buffer && endOf(last) === part.byteOffset && last.isShared
    if (!goesOn && part.length < LEAST_SHARED) return this.append([part], part.length)
    if (goesOn) {
      const { byteOffset } = last.bytes
      last.bytes = new Uint8Array(part.buffer, byteOffset, last.length + part.length)
      last.length += part.length
      last.capacity = last.length
    } else {
      if (this.#isLimited && !this.#meter.has(part.buffer)) this.#meter.demand(part.buffer.byteLength)
      // What the chunk before has left is given up, so that the positions go on without a gap.
      if (last !== undefined) last.capacity = last.length
      this.#push({ start: this.size, length: part.length, capacity: part.length, bytes: part, isShared: true })
    }
    this.size += part.length
  }

  /** Gives an empty file `bytes` in a chunk just as large: for small files that are replaced as a whole. */
  fill(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#addChunk(bytes.length)
    this.#put(bytes, 0)
  }

  /** Copies `part` in, from the chunk at `index` on; returns the chunk it ended in. */
  #put(part: Uint8Array, index: number): number {
    let from = 0
    while (from < part.length) {
      const chunk = this.#chunks[index]
      const room = chunk.capacity - chunk.length
      if (room === 0) {
        index++
        continue
      }
      const count = Math.min(room, part.length - from)
      chunk.bytes.set(from === 0 && count === part.length ? part : part.subarray(from, from + count), chunk.length)
      chunk.length += count
      this.size += count
      from += count
    }
    return index
  }

  #addChunks(missing: number): void {
    const before = this.#chunks.length
    try {
      for (let left = missing; left > 0; ) {
        const previous = this.#chunks.at(-1)
        const wanted = previous ? Math.min(LARGEST_CHUNK, Math.max(FIRST_CHUNK, previous.capacity * 2)) : FIRST_CHUNK
        // Near the ceiling a chunk is as large as it must be.
        const room = this.#exempt ? Number.POSITIVE_INFINITY : this.#meter.room
        const capacity = wanted <= room ? wanted : Math.min(left, LARGEST_CHUNK)
        this.#addChunk(capacity)
        left -= capacity
      }
    } catch (error) {
      for (const chunk of this.#chunks.splice(before)) this.#release(chunk)
      throw error
    }
  }

  #addChunk(capacity: number): void {
    if (this.#isLimited) this.#meter.demand(capacity)
    const previous = this.#chunks.at(-1)
    const start = previous ? previous.start + previous.capacity : 0
    this.#push({ start, length: 0, capacity, bytes: new Uint8Array(capacity), isShared: false })
  }

  get #isLimited(): boolean {
    return this.#linked && !this.#exempt
  }

  #push(chunk: Chunk): void {
    this.#chunks.push(chunk)
    if (this.#linked) this.#meter.take(chunk.bytes.buffer)
  }

  #release({ bytes }: Chunk): void {
    if (this.#linked) this.#meter.release(bytes.buffer)
  }

  readInto(position: number, target: Uint8Array): number {
    let count = 0
    for (let index = this.#find(position); index >= 0 && index < this.#chunks.length; index++) {
      const chunk = this.#chunks[index]
      const from = position + count - chunk.start
      const length = Math.min(chunk.length - from, target.length - count)
      if (length <= 0) break
      target.set(chunk.bytes.subarray(from, from + length), count)
      count += length
    }
    return count
  }

  read(position: number, length: number): Uint8Array[] {
    const views: Uint8Array[] = []
    let left = length
    for (let index = this.#find(position); index >= 0 && index < this.#chunks.length && left > 0; index++) {
      const chunk = this.#chunks[index]
      const from = position + length - left - chunk.start
      const count = Math.min(chunk.length - from, left)
      if (count <= 0) break
      views.push(chunk.bytes.subarray(from, from + count))
      left -= count
    }
    return views
  }

  /** Writes inside what there is. Chunks are copied before they change, for somebody may hold a view of them. */
  writeAt(position: number, bytes: Uint8Array): void {
    let done = 0
    for (let index = this.#find(position); done < bytes.length; index++) {
      const chunk = this.#chunks[index]
      const from = position + done - chunk.start
      const count = Math.min(chunk.length - from, bytes.length - done)
      const copy = chunk.bytes.slice()
      copy.set(bytes.subarray(done, done + count), from)
      this.#release(chunk)
      chunk.bytes = copy
      if (this.#linked) this.#meter.take(copy.buffer)
      done += count
    }
  }

  truncate(size: number): void {
    if (size === this.size) return
    const keep = this.#chunks.findIndex(chunk => chunk.start >= size)
    if (keep >= 0) for (const chunk of this.#chunks.splice(keep)) this.#release(chunk)
    const last = this.#chunks.at(-1)
    if (last && last.start + last.length > size) {
      last.length = size - last.start
      last.capacity = last.length
    }
    this.size = size
  }

  /** Its name is gone: what it holds lives as long as somebody reads it, and is no longer counted. */
  unlink(): void {
    for (const chunk of this.#chunks) this.#release(chunk)
    this.#linked = false
  }

  /**
   * A file of its own with the same bytes, which both share: what was written never changes, and the room behind it is left to
   * this one.
   */
  fork(meter: MemoryMeter): MemoryFile {
    const fork = new MemoryFile(meter, { exempt: this.#exempt })
    fork.size = this.size
    fork.modifiedMs = this.modifiedMs
    for (const { start, length, bytes } of this.#chunks) {
      if (length > 0) fork.#push({ start, length, capacity: length, bytes, isShared: true })
    }
    return fork
  }

  /** The index of the chunk with the byte at `position`, or −1. */
  #find(position: number): number {
    if (position < 0 || position >= this.size) return -1
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#chunks[middle].start <= position) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** Where in its slab the bytes of a chunk end. */
function endOf({ bytes, length }: Chunk): number {
  return bytes.byteOffset + length
}
