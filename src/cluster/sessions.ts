import type { Env } from '../util/env.ts'
import type { Timer } from '../util/timer-queue.ts'

interface Session {
  /** False for a broker of which only the log tells. */
  isHeard: boolean
  timer: Timer
}

/**
 * When brokers were last heard of, and who has been silent for too long (Kafka's `BrokerHeartbeatTracker`). Soft state of the controller: one
 * that starts anew has heard of nobody.
 */
export class Sessions {
  readonly #env: Env
  readonly #timeoutMs: () => number
  readonly #expired: (brokerId: number) => void
  readonly #sessions = new Map<number, Session>()

  constructor(options: { env: Env; timeoutMs: () => number; expired: (brokerId: number) => void }) {
    this.#env = options.env
    this.#timeoutMs = options.timeoutMs
    this.#expired = options.expired
  }

  /** True while a broker was heard of not too long ago. */
  isAlive(brokerId: number): boolean {
    return this.#sessions.get(brokerId)?.isHeard ?? false
  }

  /** A broker was heard of. */
  touch(brokerId: number): void {
    this.#watch(brokerId, true)
  }

  /** A broker that nothing was heard of yet has as long as any other; it is not known to live. */
  expect(brokerId: number): void {
    this.#watch(brokerId, false)
  }

  /** A broker said goodbye. */
  end(brokerId: number): void {
    this.#sessions.get(brokerId)?.timer.cancel()
    this.#sessions.delete(brokerId)
  }

  /** No timer is left. */
  close(): void {
    for (const brokerId of [...this.#sessions.keys()]) this.end(brokerId)
  }

  /** By the clock of those who live in the same time: when a test moves the controller's, nobody has been silent. */
  #watch(brokerId: number, isHeard: boolean): void {
    this.#sessions.get(brokerId)?.timer.cancel()
    const expire = () => {
      this.#sessions.delete(brokerId)
      this.#expired(brokerId)
    }
    this.#sessions.set(brokerId, { isHeard, timer: this.#env.timer(this.#timeoutMs(), expire, 'client') })
  }
}
