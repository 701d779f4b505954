import type { Timer } from './timer-queue.ts'
import type { Turns } from './turns.ts'

/**
 * Everything the pure part may know of the world: the time, timers, chance, a place for log lines, and the queue of
 * turns. One is passed down from the top; nobody makes a second. `node/` has the real one, `virtual-env.ts` the one
 * that tests and the simulator move by hand.
 */
export interface Env {
  /** Wall clock, milliseconds since 1970. Read once per request. */
  now(): number
  /** Runs `run` (followed by a drain) once `delayMs` have passed. */
  timer(delayMs: number, run: () => void): Timer
  /** A number in [0, 1). */
  random(): number
  readonly turns: Turns
  log(level: LogLevel, message: string, fields?: LogFields): void
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Record<string, string | number | boolean | null | undefined>
