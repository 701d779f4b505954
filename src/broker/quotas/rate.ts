/**
 * How much of something there was per second, over the last eleven windows of a second each. Follows the `Rate` over a
 * `SampledStat` of Kafka's metrics, since the time for which a client is throttled is computed from it: a rate of which less
 * than ten seconds are known is spread over ten, so that a burst at the beginning is let through.
 */

export const WINDOWS = 11
export const WINDOW_MS = 1000
/** What fits into an answer: 24 days. */
const LONGEST_MS = 2 ** 31 - 1

interface Sample {
  readonly startMs: number
  lastMs: number
  value: number
}

export class Rate {
  /** Oldest first. */
  #samples: Sample[] = []

  /** Counts `value` in; a negative one takes back what was counted. */
  record(value: number, now: number): void {
    const current = this.#samples.at(-1)
    if (current === undefined || now - current.startMs >= WINDOW_MS) {
      this.#samples.push({ startMs: now, lastMs: now, value })
    } else {
      current.value += value
      current.lastMs = now
    }
  }

  /** The value per second, and over how many milliseconds it was taken. */
  measure(now: number): { perSecond: number; windowMs: number } {
    this.#forget(now)
    const windowMs = this.#windowMs(now)
    const sum = this.#samples.reduce((total, { value }) => total + value, 0)
    return { perSecond: (sum / windowMs) * 1000, windowMs }
  }

  /** True when nothing is left that counts. */
  isIdle(now: number): boolean {
    this.#forget(now)
    return this.#samples.length === 0
  }

  #forget(now: number): void {
    if (this.#samples.length > 0 && now - this.#samples[0].lastMs < WINDOWS * WINDOW_MS) return
    this.#samples = this.#samples.filter(({ lastMs }) => now - lastMs < WINDOWS * WINDOW_MS)
  }

  #windowMs(now: number): number {
    const elapsed = now - (this.#samples[0]?.startMs ?? now)
    const missing = Math.max(0, WINDOWS - 1 - Math.floor(elapsed / WINDOW_MS))
    return Math.max(1, elapsed + missing * WINDOW_MS)
  }
}

/** For how many milliseconds somebody has to pause to come back to `limit` per second; 0 when nothing is too much. */
export function throttleTimeMs(rate: Rate, limit: number, now: number): number {
  const { perSecond, windowMs } = rate.measure(now)
  return perSecond > limit ? Math.min(LONGEST_MS, Math.round(((perSecond - limit) / limit) * windowMs)) : 0
}
