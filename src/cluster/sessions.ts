import type { Env } from '../util/env.ts'
import type { Timer } from '../util/timer-queue.ts'

interface Session {
  lastContact: number
  /** False for a broker of which only the log tells. */
  isHeard: boolean
  timer: Timer | undefined
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
    const session = this.#sessions.get(brokerId)
    if (session !== undefined) {
      session.lastContact = this.#env.now()
      session.isHeard = true
      return
    }
    const fresh: Session = { lastContact: this.#env.now(), isHeard: true, timer: undefined }
    this.#sessions.set(brokerId, fresh)
    this.#watch(brokerId, fresh, this.#timeoutMs())
  }

  /** A broker that nothing was heard of yet has as long as any other; it is not known to live. */
  expect(brokerId: number): void {
    this.touch(brokerId)
    const session = this.#sessions.get(brokerId)
    if (session !== undefined) session.isHeard = false
  }

  /** A broker said goodbye. */
  end(brokerId: number): void {
    this.#sessions.get(brokerId)?.timer?.cancel()
    this.#sessions.delete(brokerId)
  }

  /** No timer is left. */
  close(): void {
    for (const brokerId of [...this.#sessions.keys()]) this.end(brokerId)
  }

  /** Heartbeats only note the time; one timer per broker looks whether enough of it has passed. */
  #watch(brokerId: number, session: Session, delayMs: number): void {
    session.timer = this.#env.timer(delayMs, () => {
      const left = session.lastContact + this.#timeoutMs() - this.#env.now()
      if (left > 0) return this.#watch(brokerId, session, left)
      this.#sessions.delete(brokerId)
      this.#expired(brokerId)
    })
  }
}
