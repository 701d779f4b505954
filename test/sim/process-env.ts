/**
 * The Env of one process in the simulation, a broker or a client: a clock that all share, and timers and turns of its own,
 * which are gone when the process is killed. Each outside event that reaches the process ends with a drain of its turns.
 */

import type { Env, LogFields, LogLevel } from '../../src/util/env.ts'
import type { Timer } from '../../src/util/timer-queue.ts'
import { Turns } from '../../src/util/turns.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import type { Chance } from './chance.ts'

export interface ProcessOptions {
  readonly name: string
  readonly world: VirtualEnv
  readonly chance: Chance
  readonly onLog?: (level: LogLevel, message: string, fields: LogFields) => void
}

export class ProcessEnv implements Env {
  readonly name: string
  readonly turns = new Turns()
  readonly #world: VirtualEnv
  readonly #chance: Chance
  readonly #onLog: ProcessOptions['onLog']
  readonly #timers = new Set<Timer>()
  #alive = true
  #doomed: (() => void) | undefined

  constructor(options: ProcessOptions) {
    this.name = options.name
    this.#world = options.world
    this.#chance = options.chance
    this.#onLog = options.onLog
  }

  get alive(): boolean {
    return this.#alive
  }

  /** True from the moment at which it was struck: what it still does in its present turn is seen by nobody. */
  get doomed(): boolean {
    return this.#doomed !== undefined || !this.#alive
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#world.now()
  }

  random(): number {
    return this.#chance.next()
  }

  timer(delayMs: number, run: () => void): Timer {
    const timer = this.#world.timer(delayMs, () => {
      this.#timers.delete(handle)
      this.enter(run)
    })
    const handle: Timer = {
      cancel: () => {
        this.#timers.delete(handle)
        timer.cancel()
      },
    }
    this.#timers.add(handle)
    return handle
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (!this.doomed) this.#onLog?.(level, message, fields)
  }

  /** An outside event: runs `run` and all that follows from it, unless the process is dead. */
  enter(run: () => void): void {
    if (!this.#alive) return
    run()
    this.turns.drain()
    const struck = this.#doomed
    this.#doomed = undefined
    struck?.()
  }

  /** Strikes the process in the middle of a turn: `then` runs when the turn is over, whose effects nobody sees. */
  doom(then: () => void): void {
    if (this.#alive) this.#doomed ??= then
  }

  /** Ends the process: no timer fires and no turn runs any more. */
  kill(): void {
    this.#alive = false
    for (const timer of [...this.#timers]) timer.cancel()
  }
}
