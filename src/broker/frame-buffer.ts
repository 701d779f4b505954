/**
 * Received bytes, cut into frames: four bytes of length, then that many bytes. A frame that arrived whole is handed out as
 * a view of what the socket read; only what is incomplete, or must wait, is copied, into one buffer that is used again. A
 * length that was announced allocates nothing until its bytes arrive.
 */

const SMALL = 4 * 1024

export class FrameBuffer {
  #buffer: Uint8Array = new Uint8Array(0)
  #start = 0
  #end = 0
  /** What was given to `offer` and not yet taken: a view that dies with the call. */
  #offered: Uint8Array | undefined

  /** Bytes held, whether they make a frame or not. */
  get length(): number {
    return this.#end - this.#start + (this.#offered?.length ?? 0)
  }

  /** Bytes held in a buffer of our own. */
  get held(): number {
    return this.#end - this.#start
  }

  /** Gives bytes that are valid until `keep` is called. */
  offer(bytes: Uint8Array): void {
    if (this.#end === this.#start) this.#offered = bytes
    else this.#append(bytes)
  }

  /** Copies what was offered and not taken. */
  keep(): void {
    const rest = this.#offered
    this.#offered = undefined
    if (rest !== undefined && rest.length > 0) this.#append(rest)
  }

  /** The length that the next frame announces, or undefined while its four bytes are not there. */
  nextLength(): number | undefined {
    const bytes = this.#bytes()
    if (bytes.length < 4) return undefined
    return (bytes[0] << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3]
  }

  /** Takes the next frame, of which `nextLength` told the length; undefined while it is not whole. */
  take(length: number): Uint8Array | undefined {
    const bytes = this.#bytes()
    const size = 4 + length
    if (bytes.length < size) return undefined
    if (this.#offered !== undefined) this.#offered = bytes.subarray(size)
    else this.#start += size
    return bytes.subarray(4, size)
  }

  /** What the buffer takes, whether it is full or not. */
  get room(): number {
    return this.#buffer.length
  }

  /** Lets go of a buffer that is empty and larger than `kept`. Not while a frame that was taken is still looked at. */
  release(kept: number): void {
    if (this.#start !== this.#end) return
    this.#start = 0
    this.#end = 0
    if (this.#buffer.length > kept) this.#buffer = new Uint8Array(0)
  }

  #bytes(): Uint8Array {
    return this.#offered ?? this.#buffer.subarray(this.#start, this.#end)
  }

  #append(bytes: Uint8Array): void {
    const held = this.#end - this.#start
    if (this.#end + bytes.length > this.#buffer.length) {
      const needed = held + bytes.length
      const target = needed <= this.#buffer.length ? this.#buffer : new Uint8Array(roomFor(needed))
      target.set(this.#buffer.subarray(this.#start, this.#end))
      this.#buffer = target
      this.#start = 0
      this.#end = held
    }
    this.#buffer.set(bytes, this.#end)
    this.#end += bytes.length
  }
}

/** Doubling keeps the copies of a large frame that arrives in pieces few. */
function roomFor(needed: number): number {
  let room = SMALL
  while (room < needed) room *= 2
  return room
}
