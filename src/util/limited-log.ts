import type { Env, LogFields, LogLevel } from './env.ts'

/**
 * A log that somebody from outside can cause lines in, and so must not be able to flood: so many a second are written, the rest
 * is counted, and the count is told.
 */
const LINES_PER_SECOND = 10

export class LimitedLog {
  readonly #env: Env
  readonly #level: LogLevel
  #second = Number.NEGATIVE_INFINITY
  #lines = 0

  constructor(env: Env, level: LogLevel) {
    this.#env = env
    this.#level = level
  }

  log(message: string, fields?: LogFields): void {
    const second = Math.floor(this.#env.now() / 1000)
    if (second !== this.#second) {
      const dropped = this.#lines - LINES_PER_SECOND
      if (dropped > 0) this.#env.log(this.#level, `${dropped} more lines like the last were left out`)
      this.#second = second
      this.#lines = 0
    }
    this.#lines++
    if (this.#lines <= LINES_PER_SECOND) this.#env.log(this.#level, message, fields)
  }
}
