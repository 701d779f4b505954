import { assert } from './assert.ts'
import type { Env, LogFields, LogLevel } from './env.ts'
import { Prng } from './prng.ts'
import { type Timer, TimerQueue } from './timer-queue.ts'
import { Turns } from './turns.ts'

/** A log line that a {@link VirtualEnv} kept. */
export interface LogLine {
  level: LogLevel
  message: string
  fields: LogFields
}

/**
 * An {@link Env} that stands still until told: the clock moves only by `advance`, chance comes from the seed,
 * log lines are kept. The same seed and the same calls give the same history.
 */
export class VirtualEnv implements Env {
  readonly turns = new Turns()
  readonly lines: LogLine[] = []
  readonly aheadOfClients: boolean
  readonly #timers = new TimerQueue()
  readonly #prng: Prng
  #now: number

  constructor(options: { seed?: number; now?: number; aheadOfClients?: boolean } = {}) {
    this.#prng = new Prng(options.seed ?? 1)
    this.aheadOfClients = options.aheadOfClients ?? false
    this.#now = options.now ?? 1_700_000_000_000
  }

  now(): number {
    return this.#now
  }

  random(): number {
    return this.#prng.next()
  }

  timer(delayMs: number, run: () => void): Timer {
    return this.#timers.set(this.#now + Math.max(0, delayMs), run)
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields })
  }

  /** How many timers are set: tests check that nothing is left behind. */
  get timers(): number {
    return this.#timers.size
  }

  /** When the next timer is due, or undefined. */
  get nextDue(): number | undefined {
    return this.#timers.nextDue()
  }

  /** Runs what is queued without moving the clock. */
  settle(): void {
    this.turns.drain()
  }

  /** Moves the clock to the next timer and fires that one alone. False when none is set. */
  step(): boolean {
    this.turns.drain()
    const due = this.#timers.nextDue()
    if (due === undefined) return false
    this.#now = Math.max(this.#now, due)
    this.#timers.take(this.#now)?.()
    this.turns.drain()
    return true
  }

  /** Moves the clock by `ms`, firing due timers in order, each at its own time. */
  advance(ms: number): void {
    assert(ms >= 0, `the clock does not go back: ${ms}`)
    const end = this.#now + ms
    this.turns.drain()
    for (;;) {
      const due = this.#timers.nextDue()
      if (due === undefined || due > end) break
      this.#now = Math.max(this.#now, due)
      this.#timers.take(this.#now)?.()
      this.turns.drain()
    }
    // A timer may have moved the clock itself.
    this.#now = Math.max(this.#now, end)
  }
}
