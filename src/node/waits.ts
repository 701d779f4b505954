/**
 * Waiting for brokers to come to some state: looked at after each of their events, so that nobody polls, and never longer than was
 * said. A wait that fails says what it saw instead.
 */
import { OttlaError, toError } from './errors.ts'

/** How long whoever waited in vain waits for what there is instead. */
const SILENCE_MS = 1000

export interface Wait<T> {
  /** What is waited for, for the message: `2 stable members in group billing`. */
  readonly what: string
  readonly timeoutMs: number
  /** The result, or undefined as long as there is none. One look that has to ask elsewhere is taken at a time. */
  look(): T | undefined | Promise<T | undefined>
  /** What there is instead. */
  seen(): string | Promise<string>
}

/** Whose events are looked at. */
export interface Eventful {
  /** Calls `listener` after each event; the function returned ends that. */
  afterEvents(listener: () => void): () => void
}

export class Waits {
  readonly #source: Eventful
  readonly #waiting = new Set<Waiting>()
  #stop: (() => void) | undefined

  constructor(source: Eventful) {
    this.#source = source
  }

  for<T>(wait: Wait<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = new Waiting(wait as Wait<unknown>, resolve as (value: unknown) => void, reject, () => {
        this.#waiting.delete(waiting)
        if (this.#waiting.size > 0) return
        this.#stop?.()
        this.#stop = undefined
      })
      this.#waiting.add(waiting)
      this.#stop ??= this.#source.afterEvents(() => this.look())
      this.look()
    })
  }

  /** Takes a look for everybody who waits. */
  look(): void {
    for (const waiting of [...this.#waiting]) waiting.look()
  }

  /** Nothing comes any more: the broker closes. */
  close(): void {
    for (const waiting of [...this.#waiting]) {
      waiting.fail(new OttlaError('OTTLA_BROKER_CLOSED', 'the broker was closed'))
    }
  }
}

class Waiting {
  readonly #wait: Wait<unknown>
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: Error) => void
  readonly #ended: () => void
  readonly #timer: NodeJS.Timeout
  #isOver = false
  /** A look is under way, and whether something has happened since it began. */
  #looking = false
  #again = false

  constructor(
    wait: Wait<unknown>,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void,
    ended: () => void,
  ) {
    this.#wait = wait
    this.#resolve = resolve
    this.#reject = reject
    this.#ended = ended
    this.#timer = setTimeout(() => void this.#late(), wait.timeoutMs)
  }

  look(): void {
    if (this.#looking) this.#again = true
    if (this.#looking || this.#isOver) return
    this.#looking = true
    this.#again = false
    try {
      const result = this.#wait.look()
      if (result instanceof Promise) return void this.#await(result)
      this.#found(result)
    } catch (error) {
      this.fail(toError(error))
    }
    this.#looking = false
  }

  async #await(result: Promise<unknown>): Promise<void> {
    try {
      this.#found(await result)
    } catch (error) {
      this.fail(toError(error))
    }
    this.#looking = false
    if (this.#again) this.look()
  }

  #found(result: unknown): void {
    if (result !== undefined && this.#end()) this.#resolve(result)
  }

  fail(error: Error): void {
    if (this.#end()) this.#reject(error)
  }

  async #late(): Promise<void> {
    const { what, timeoutMs } = this.#wait
    try {
      const seen = await orSilence(this.#wait.seen())
      this.fail(new OttlaError('OTTLA_TIMEOUT', `waited ${timeoutMs} ms for ${what}; there is ${seen}`))
    } catch (error) {
      this.fail(toError(error))
    }
  }

  /** False when it is over already. */
  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#ended()
    return true
  }
}

/** A broker whose thread stands still does not even say what there is. */
async function orSilence(seen: string | Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<string>(resolve => {
    timer = setTimeout(() => resolve('no answer'), SILENCE_MS)
  })
  try {
    return await Promise.race([seen, silence])
  } finally {
    clearTimeout(timer)
  }
}
