/**
 * The one queue of what is to run next. Every outside event (bytes arrived, a timer fired, a flush ended) ends with
 * `drain()`, which runs the queue empty. Nothing here is a microtask: a simulator sees every step, and a listener
 * is never called inside the call that settled it, so no code is re-entered and no stack grows.
 */
export class Turns {
  #queue: ((() => void) | undefined)[] = []
  #head = 0
  #draining = false
  readonly #onError: (error: unknown) => void

  /** @param onError gets what a listener threw, and the drain goes on; without it, the error leaves `drain()`. */
  constructor(onError?: (error: unknown) => void) {
    this.#onError =
      onError ??
      (error => {
        throw error
      })
  }

  /** Runs `run` during the next (or the present) drain, after everything queued before it. */
  enqueue(run: () => void): void {
    this.#queue.push(run)
  }

  /** True while nothing waits to be run. */
  get idle(): boolean {
    return this.#head === this.#queue.length
  }

  /** Runs until nothing is left, including what is enqueued meanwhile. Calls from within are no-ops. */
  drain(): void {
    if (this.#draining) return
    this.#draining = true
    try {
      while (this.#head < this.#queue.length) {
        const run = this.#queue[this.#head] as () => void
        this.#queue[this.#head++] = undefined
        if (this.#head >= 1024 && this.#head * 2 >= this.#queue.length) this.#forget()
        try {
          run()
        } catch (error) {
          this.#onError(error)
        }
      }
    } finally {
      this.#forget()
      this.#draining = false
    }
  }

  /** Cuts off what has run. Only when it is half of the queue, so that each entry is moved once on average. */
  #forget(): void {
    if (this.#head === this.#queue.length) this.#queue = []
    else this.#queue.splice(0, this.#head)
    this.#head = 0
  }
}
