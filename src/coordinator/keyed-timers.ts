import type { Env, TimerClock } from '../util/env.ts'
import type { Timer } from '../util/timer-queue.ts'

/**
 * Timers by name: setting one again replaces it, as a heartbeat does. They belong to one loaded partition and end with
 * it. It knows no group; the keys are the machine's. Follows `CoordinatorTimer`.
 */
export class KeyedTimers<Decision> {
  readonly #env: Env
  readonly #fire: (decide: (decision: Decision) => void) => void
  readonly #timers = new Map<string, Timer>()

  /** @param fire runs what was set, as a decision of its own. */
  constructor(env: Env, fire: (decide: (decision: Decision) => void) => void) {
    this.#env = env
    this.#fire = fire
  }

  /** How many are set. */
  get size(): number {
    return this.#timers.size
  }

  has(key: string): boolean {
    return this.#timers.has(key)
  }

  set(key: string, delayMs: number, decide: (decision: Decision) => void, clock?: TimerClock): void {
    this.#timers.get(key)?.cancel()
    const fire = () => {
      this.#timers.delete(key)
      this.#fire(decide)
    }
    this.#timers.set(key, this.#env.timer(Math.max(0, delayMs), fire, clock))
  }

  cancel(key: string): void {
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
  }

  cancelAll(): void {
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }
}
