import type { Env, LogFields, LogLevel, TimerClock } from '../util/env.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { Turns } from '../util/turns.ts'

/**
 * The Env of one node among several that share a clock: its timers end when it is killed and wait while it is paused, as those of a
 * process do. Time, chance and turns are those of all.
 */
export class NodeEnv implements Env {
  readonly turns: Turns
  readonly #env: Env
  readonly #node: string
  readonly #timers = new Set<Timer>()
  /** What became due while it was paused, in order. */
  #held: (() => void)[] | undefined
  #killed = false
  /** How far its clock is off, in milliseconds. */
  clockOffsetMs = 0

  constructor(env: Env, node: string) {
    this.#env = env
    this.#node = node
    this.turns = env.turns
  }

  get aheadOfClients(): boolean {
    return this.#env.aheadOfClients ?? false
  }

  now(): number {
    return this.#env.now() + this.clockOffsetMs
  }

  random(): number {
    return this.#env.random()
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (!this.#killed) this.#env.log(level, message, { node: this.#node, ...fields })
  }

  timer(delayMs: number, run: () => void, clock?: TimerClock): Timer {
    if (this.#killed) return { cancel() {} }
    let cancelled = false
    const due = () => {
      this.#timers.delete(timer)
      if (cancelled || this.#killed) return
      if (this.#held === undefined) run()
      else this.#held.push(due)
    }
    const inner = this.#env.timer(delayMs, due, clock)
    const timer: Timer = {
      cancel: () => {
        cancelled = true
        this.#timers.delete(timer)
        inner.cancel()
      },
    }
    this.#timers.add(timer)
    return timer
  }

  /** The node stands still: what becomes due waits for {@link resume}. */
  pause(): void {
    this.#held ??= []
  }

  /** What became due meanwhile runs now, each in a turn of its own. */
  resume(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const due of held) this.turns.enqueue(due)
  }

  /** The process is gone: no timer of it fires any more. */
  kill(): void {
    this.#killed = true
    for (const timer of [...this.#timers]) timer.cancel()
  }
}
