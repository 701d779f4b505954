import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'

/**
 * The one place where requests wait: for bytes to fetch, for a high watermark to pass, for anything that is known by a key.
 * Who waits under several keys is looked at once per drain, whatever woke it (Kafka's `DelayedOperationPurgatory`).
 */
export class Purgatory {
  readonly #env: Env
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #awake = new Set<Waiter>()
  /** One at the most per connection, since a connection works on one request at a time. */
  readonly #byConnection = new Map<number, Waiter>()

  constructor(env: Env) {
    this.#env = env
  }

  /** How many requests wait: zero again once all is answered. */
  get size(): number {
    return this.#byConnection.size
  }

  /**
   * Waits under `keys` until `attempt` gives an answer, at most `timeoutMs`, after which `expire` gives it. The caller has
   * tried once already. When the connection ends, so does the wait, without an answer.
   */
  wait<T>(
    connectionId: number,
    keys: Iterable<string>,
    timeoutMs: number,
    attempt: () => T | undefined,
    expire: () => T,
  ): Later<T> {
    const later = new Later<T>(this.#env.turns)
    const waiter = new Waiter(connectionId, [...keys], () => {
      const answer = attempt()
      if (answer === undefined) return false
      later.settle(answer)
      return true
    })
    waiter.expire = () => {
      this.#remove(waiter)
      later.settle(expire())
    }
    waiter.timer = this.#env.timer(timeoutMs, waiter.expire, 'client')
    this.#byConnection.set(connectionId, waiter)
    for (const key of waiter.keys) {
      const waiters = this.#waiters.get(key)
      if (waiters === undefined) this.#waiters.set(key, new Set([waiter]))
      else waiters.add(waiter)
    }
    return later
  }

  /** Something under `key` changed: those who wait for it try again, in a turn of their own. */
  wake(key: string): void {
    const waiters = this.#waiters.get(key)
    if (waiters === undefined) return
    for (const waiter of waiters) {
      if (this.#awake.has(waiter)) continue
      this.#awake.add(waiter)
      this.#env.turns.enqueue(() => {
        this.#awake.delete(waiter)
        if (!waiter.done && waiter.attempt()) this.#remove(waiter)
      })
    }
  }

  /** Whoever asked is gone: nobody waits for the answer any more. */
  abandon(connectionId: number): void {
    const waiter = this.#byConnection.get(connectionId)
    if (waiter !== undefined) this.#remove(waiter)
  }

  /** Ends every wait as if its time had come: the broker stops. */
  expireAll(): void {
    for (const waiter of [...this.#byConnection.values()]) waiter.expire()
  }

  #remove(waiter: Waiter): void {
    waiter.done = true
    waiter.timer?.cancel()
    this.#byConnection.delete(waiter.connectionId)
    for (const key of waiter.keys) {
      const waiters = this.#waiters.get(key)
      waiters?.delete(waiter)
      if (waiters?.size === 0) this.#waiters.delete(key)
    }
  }
}

class Waiter {
  readonly connectionId: number
  readonly keys: readonly string[]
  readonly attempt: () => boolean
  expire: () => void = () => {}
  timer: Timer | undefined
  done = false

  constructor(connectionId: number, keys: readonly string[], attempt: () => boolean) {
    this.connectionId = connectionId
    this.keys = keys
    this.attempt = attempt
  }
}
