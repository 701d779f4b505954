/**
 * Waiting for a broker to come to some state: looked at after each of its events, so that nobody polls, and never longer than was
 * said. A wait that fails says what it saw instead.
 */
import { OttlaError, toError } from './errors.ts'
import type { SystemEnv } from './system-env.ts'

export interface Wait<T> {
  /** What is waited for, for the message: `2 stable members in group billing`. */
  readonly what: string
  readonly timeoutMs: number
  /** The result, or undefined as long as there is none. */
  look(): T | undefined
  /** What there is instead. */
  seen(): string
}

export class Waits {
  readonly #env: SystemEnv
  readonly #looks = new Map<() => void, (error: Error) => void>()
  #stop: (() => void) | undefined

  constructor(env: SystemEnv) {
    this.#env = env
  }

  for<T>({ what, timeoutMs, look, seen }: Wait<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const attempt = () => {
        const result = look()
        if (result === undefined) return
        end()
        resolve(result)
      }
      const fail = (error: Error) => {
        end()
        reject(error)
      }
      const end = () => {
        clearTimeout(timer)
        this.#looks.delete(attempt)
        if (this.#looks.size > 0) return
        this.#stop?.()
        this.#stop = undefined
      }
      const timer = setTimeout(() => {
        fail(new OttlaError('OTTLA_TIMEOUT', `waited ${timeoutMs} ms for ${what}; there is ${seen()}`))
      }, timeoutMs)
      this.#looks.set(attempt, fail)
      this.#stop ??= this.#env.afterEvents(() => this.#look())
      this.#look()
    })
  }

  #look(): void {
    for (const [attempt, fail] of [...this.#looks]) {
      try {
        attempt()
      } catch (error) {
        fail(toError(error))
      }
    }
  }

  /** Nothing comes any more: the broker closes. */
  close(): void {
    for (const fail of [...this.#looks.values()]) fail(new OttlaError('OTTLA_BROKER_CLOSED', 'the broker was closed'))
  }
}
