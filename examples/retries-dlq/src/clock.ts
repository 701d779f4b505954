/**
 * What time it is, and waiting for it: what is to happen in an hour happens when the clock says so, which in a test is soon.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

/** How often a clock is looked at that may be moved. */
const LOOK_MS = 1000

export class Alarms {
  readonly #clock: Clock
  readonly #lookMs: number
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(clock: Clock, lookMs = LOOK_MS) {
    this.#clock = clock
    this.#lookMs = lookMs
  }

  /** Calls `ring` once it is `time`. */
  at(time: number, ring: () => void): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer)
        if (this.#clock.now() >= time) ring()
        else this.at(time, ring)
      },
      Math.min(Math.max(0, time - this.#clock.now()), this.#lookMs),
    )
    this.#timers.add(timer)
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}
