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
  /** Runs `run` (followed by a drain) once `delayMs` have passed, by the broker's clock unless said otherwise. */
  timer(delayMs: number, run: () => void, clock?: TimerClock): Timer
  /** A number in [0, 1). */
  random(): number
  readonly turns: Turns
  /**
   * True where the clock may be moved while those of the clients stay: then the age of a record counts from the time at which
   * it was appended, and not from the time that its client wrote into it.
   */
  readonly aheadOfClients?: boolean
  log(level: LogLevel, message: string, fields?: LogFields): void
}

/**
 * What a timer goes by. `client` is for what waits for somebody outside (a heartbeat, a join, bytes on an idle connection):
 * when a test moves the broker's clock on, a client that lives has not had that time, so such timers stay unless they are asked for.
 */
export type TimerClock = 'broker' | 'client'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Record<string, string | number | boolean | null | undefined>
