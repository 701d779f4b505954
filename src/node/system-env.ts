/**
 * The Env of a real process: wall clock, one Node timer for the whole timer queue, chance from the system. Everything
 * that comes from outside (bytes, a timer, a written buffer) runs through `event`, which drains the turns and then
 * tells those who wait for the end of an event, such as the server that writes what was sent.
 */
import { getRandomValues } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { assert } from '../util/assert.ts'
import type { Env, LogFields, LogLevel, TimerClock } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import { type Timer, TimerQueue } from '../util/timer-queue.ts'
import { Turns } from '../util/turns.ts'
import { toError } from './errors.ts'
import type { LogFunction } from './log.ts'

/** A timer that comes later than this was held up by a blocked event loop or a sleeping machine. */
const LATE_MS = 1000
/** Clients that were held up as well get this long to say what they would have said. */
const GRACE_MS = 100
/** The longest delay that a Node timer takes. */
const MAX_DELAY_MS = 2 ** 31 - 1

export interface SystemEnvOptions {
  log: LogFunction
  /** Called with what a timer or a listener threw, which is always a mistake in Ottla. */
  onFatal: (error: Error) => void
  /** True lets {@link SystemEnv.advance} move the clock: it is the real one plus an offset. */
  virtualTime?: boolean
}

/** Timers that one clock fires, and how far `advance` has moved it beyond the monotonic clock, in milliseconds. */
interface MovableClock {
  readonly timers: TimerQueue
  offset: number
}

export class SystemEnv implements Env {
  readonly turns: Turns
  readonly log: (level: LogLevel, message: string, fields?: LogFields) => void
  readonly #onFatal: (error: Error) => void
  readonly #brokerClock: MovableClock = { timers: new TimerQueue(), offset: 0 }
  /** Its own only in virtual time; otherwise all timers are in one queue, in one order. */
  readonly #clientClock: MovableClock
  readonly #clocks: readonly MovableClock[]
  readonly aheadOfClients: boolean
  /** How far the wall clock was moved. */
  #movedMs = 0
  readonly #afterEvents = new Set<() => void>()
  readonly #random = new Uint32Array(1024)
  #randomAt = 1024
  /** The Node timer that is armed, and for when. Timers that are due do not arm it again until they have run. */
  #armed: NodeJS.Timeout | undefined
  #armedDue = Number.POSITIVE_INFINITY
  #held: NodeJS.Immediate | undefined
  #closed = false

  constructor(options: SystemEnvOptions) {
    this.#onFatal = options.onFatal
    this.log = (level, message, fields = {}) => options.log(level, message, fields)
    this.aheadOfClients = options.virtualTime ?? false
    this.#clientClock = this.aheadOfClients ? { timers: new TimerQueue(), offset: 0 } : this.#brokerClock
    this.#clocks = this.aheadOfClients ? [this.#brokerClock, this.#clientClock] : [this.#brokerClock]
    this.turns = new Turns(error => this.#onFatal(toError(error)))
  }

  now(): number {
    return this.#movedMs === 0 ? Date.now() : Math.floor(Date.now() + this.#movedMs)
  }

  /** 53 random bits at a time, from a pool: a system call each would cost a microsecond. */
  random(): number {
    if (this.#randomAt === this.#random.length) {
      getRandomValues(this.#random)
      this.#randomAt = 0
    }
    const high = this.#random[this.#randomAt++] >>> 5
    const low = this.#random[this.#randomAt++] >>> 6
    return (high * 2 ** 26 + low) / 2 ** 53
  }

  /** Timers count on the monotonic clock: when the wall clock is set, no session expires and none lives forever. */
  timer(delayMs: number, run: () => void, clock: TimerClock = 'broker'): Timer {
    const { timers, offset } = clock === 'client' ? this.#clientClock : this.#brokerClock
    const due = performance.now() + Math.max(0, delayMs)
    const timer = timers.set(due + offset, run)
    if (due < this.#armedDue) this.#arm()
    return timer
  }

  /**
   * Moves the clock on by `ms`: timers that become due fire in order, each at its time, nobody waits. Those that go by the
   * clock of a client stay, unless `clients` says that it moves too.
   */
  advance(ms: number, options: { clients?: boolean } = {}): void {
    assert(this.aheadOfClients && ms >= 0, `the clock cannot be moved by ${ms}`)
    const moved = options.clients ? this.#clocks : [this.#brokerClock]
    const base = performance.now()
    const movedMs = this.#movedMs + ms
    let left = ms
    const step = (by: number) => {
      for (const clock of moved) clock.offset += by
      this.#movedMs += by
      left -= by
    }
    for (let next = nextOf(moved); next !== undefined && next.due - base <= left; next = nextOf(moved)) {
      step(Math.max(0, next.due - base))
      this.event(next.clock.timers.take(next.clock.timers.nextDue() as number) as () => void)
      if (this.#closed) return
    }
    step(left)
    // Without the errors that many small steps add up to.
    this.#movedMs = movedMs
    this.#arm()
  }

  /**
   * Runs one event from outside to its end: `run`, every turn that follows from it, then the listeners of
   * {@link afterEvents}. Answers whether `run` came to its end; what it threw went to `onFatal`.
   */
  event(run: () => void): boolean {
    let whole = true
    try {
      run()
    } catch (error) {
      whole = false
      this.#onFatal(toError(error))
    }
    this.turns.drain()
    for (const listener of this.#afterEvents) listener()
    return whole
  }

  /** Begins something as an event of its own, and resolves with what it settles with. */
  settled<T>(begin: () => Later<T>): Promise<T> {
    return new Promise(resolve => {
      this.event(() => begin().whenSettled(resolve))
    })
  }

  /** Calls `listener` at the end of every event; returns a function that ends it. */
  afterEvents(listener: () => void): () => void {
    this.#afterEvents.add(listener)
    return () => this.#afterEvents.delete(listener)
  }

  /** No timer fires any more, and none keeps the process alive. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#armed)
    clearImmediate(this.#held)
  }

  #arm(): void {
    if (this.#closed || this.#held !== undefined) return
    const due = nextOf(this.#clocks)?.due
    clearTimeout(this.#armed)
    this.#armedDue = due ?? Number.POSITIVE_INFINITY
    if (due === undefined) return
    const delay = Math.min(MAX_DELAY_MS, Math.max(1, Math.ceil(due - performance.now())))
    this.#armed = setTimeout(() => this.#hold(performance.now() - this.#armedDue > LATE_MS), delay)
  }

  /**
   * Node runs timers before it reads sockets, so after the loop was blocked a session would expire while its heartbeat
   * waits to be read. Due timers therefore run after the sockets have been read once; and after a long
   * time away only once the others in this process, and on a machine that slept, had their turn too.
   */
  #hold(late: boolean): void {
    const fire = () => {
      this.#held = undefined
      this.#armedDue = Number.POSITIVE_INFINITY
      this.#fire()
    }
    const readSockets = (next: () => void) => {
      this.#held = setImmediate(next)
    }
    if (!late) readSockets(fire)
    else {
      this.log('warn', 'the event loop was blocked or the machine slept; timers wait until sockets have been read')
      this.#armed = setTimeout(() => readSockets(() => readSockets(fire)), GRACE_MS)
    }
  }

  #fire(): void {
    const now = performance.now()
    for (let next = nextOf(this.#clocks); next !== undefined && !this.#closed; next = nextOf(this.#clocks)) {
      const run = next.clock.timers.take(now + next.clock.offset)
      if (run === undefined) break
      this.event(run)
    }
    this.#arm()
  }
}

/** The clock whose next timer comes first, and when that is on the monotonic clock. */
function nextOf(clocks: readonly MovableClock[]): { clock: MovableClock; due: number } | undefined {
  let next: { clock: MovableClock; due: number } | undefined
  for (const clock of clocks) {
    const nextDue = clock.timers.nextDue()
    if (nextDue === undefined) continue
    const due = nextDue - clock.offset
    if (next === undefined || due < next.due) next = { clock, due }
  }
  return next
}
