/**
 * Cuts received bytes into frames: four bytes of length, then that many bytes. Each frame becomes a buffer of its own, copied
 * once, since what is decoded from it (record batches are views) lives on after the transport's buffer is reused.
 */

/** Thrown when a length says something impossible. */
class FrameError extends Error {
  override readonly name = 'FrameError'
}

export class FrameReader {
  readonly #maxFrameBytes: number
  readonly #onFrame: (frame: Uint8Array) => void
  readonly #length = new Uint8Array(4)
  #lengthFilled = 0
  #frame: Uint8Array | undefined
  #frameFilled = 0

  constructor(maxFrameBytes: number, onFrame: (frame: Uint8Array) => void) {
    this.#maxFrameBytes = maxFrameBytes
    this.#onFrame = onFrame
  }

  /** Takes bytes cut anywhere; calls `onFrame` for every frame that they complete. */
  push(bytes: Uint8Array): void {
    let position = 0
    while (position < bytes.length) {
      if (this.#frame === undefined) {
        this.#length[this.#lengthFilled++] = bytes[position++]
        if (this.#lengthFilled === 4) this.#begin()
      } else {
        const take = Math.min(this.#frame.length - this.#frameFilled, bytes.length - position)
        this.#frame.set(bytes.subarray(position, position + take), this.#frameFilled)
        this.#frameFilled += take
        position += take
      }
      this.#finish()
    }
  }

  #begin(): void {
    const [a, b, c, d] = this.#length
    const length = (a << 24) | (b << 16) | (c << 8) | d
    if (length < 0 || length > this.#maxFrameBytes) throw new FrameError(`frame of ${length} bytes`)
    this.#frame = new Uint8Array(length)
    this.#frameFilled = 0
    this.#lengthFilled = 0
  }

  #finish(): void {
    const frame = this.#frame
    if (frame === undefined || this.#frameFilled < frame.length) return
    this.#frame = undefined
    this.#onFrame(frame)
  }
}
