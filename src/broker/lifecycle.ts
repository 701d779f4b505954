import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import { randomUuid } from '../util/uuid.ts'
import type { BrokerConfig } from './configs/broker-config.ts'
import type { Link, PreviousBrokerEpoch } from './link.ts'

const HURRY_MS = 100

/**
 * How a broker belongs to its cluster: it registers, is let in once it has caught up with the metadata, sends heartbeats so that it
 * stays, and asks to go before it shuts down (Kafka's `BrokerLifecycleManager`). What the heartbeats decide is the controller's.
 */
export class BrokerLifecycle {
  readonly #brokerId: number
  readonly #env: Env
  readonly #config: BrokerConfig
  readonly #link: Link
  readonly #metadataOffset: () => number
  readonly #incarnationId: string
  readonly #previousBrokerEpoch: PreviousBrokerEpoch
  #address = { host: '', port: -1 }
  #brokerEpoch = -1
  readonly #up: Later<void>
  #leaving: Later<void> | undefined
  #timer: Timer | undefined
  #stopped = false

  constructor(options: {
    brokerId: number
    env: Env
    config: BrokerConfig
    link: Link
    metadataOffset: () => number
    previousBrokerEpoch: PreviousBrokerEpoch
  }) {
    this.#brokerId = options.brokerId
    this.#env = options.env
    this.#config = options.config
    this.#link = options.link
    this.#metadataOffset = options.metadataOffset
    this.#previousBrokerEpoch = options.previousBrokerEpoch
    this.#incarnationId = randomUuid(() => options.env.random())
    this.#up = new Later(options.env.turns)
  }

  /** The epoch of this broker's registration, −1 before there is one. */
  get brokerEpoch(): number {
    return this.#brokerEpoch
  }

  /** Settles when the broker is let in for the first time: it knows then what became of all that its last process led. */
  get up(): Later<void> {
    return this.#up
  }

  /** Where it told the controller that it listens. */
  get address(): { readonly host: string; readonly port: number } {
    return this.#address
  }

  /** Registers; settles once the controller has let the broker in, so that it may lead. */
  start(host: string, port: number): Later<void> {
    this.#address = { host, port }
    this.#register()
    return this.#up
  }

  #register(): void {
    if (this.#stopped) return
    const registration = {
      brokerId: this.#brokerId,
      ...this.#address,
      rack: this.#config.text('broker.rack') ?? null,
      incarnationId: this.#incarnationId,
      previousBrokerEpoch: this.#previousBrokerEpoch,
      sendsHeartbeats: this.#link.mayFail,
    }
    this.#link.send('registerBroker', registration).whenSettled(reply => {
      if (reply?.error !== 'NONE') return this.#again(() => this.#register())
      this.#brokerEpoch = reply.brokerEpoch
      if (this.#link.mayFail) this.#heartbeat()
      else this.#up.settle()
    })
  }

  #heartbeat(): void {
    if (this.#stopped) return
    this.#timer?.cancel()
    const timeoutMs = this.#config.number('broker.session.timeout.ms')
    const heartbeat = {
      brokerId: this.#brokerId,
      brokerEpoch: this.#brokerEpoch,
      metadataOffset: this.#metadataOffset(),
      wantShutDown: this.#leaving !== undefined,
    }
    this.#link.send('brokerHeartbeat', heartbeat, timeoutMs).whenSettled(reply => {
      if (this.#stopped) return
      // Another broker was registered under this id, or this one was taken out of the cluster.
      if (reply?.error === 'STALE_BROKER_EPOCH' || reply?.error === 'BROKER_ID_NOT_REGISTERED') {
        return this.#again(() => this.#register())
      }
      if (reply?.shouldShutDown) this.#leaving?.settle()
      else if (reply?.isFenced === false) this.#up.settle()
      this.#again(() => this.#heartbeat())
    })
  }

  /** Nothing else is under way: the next step is taken when its time has come. Who is not in yet, or wants out, asks more often. */
  #again(step: () => void): void {
    if (this.#stopped) return
    const intervalMs = this.#config.number('broker.heartbeat.interval.ms')
    const hurries = !this.#up.settled || this.#leaving !== undefined
    this.#timer?.cancel()
    // By the clock of those who live in the same time: when a test moves the broker's, nobody has been silent.
    this.#timer = this.#env.timer(hurries ? Math.min(intervalMs, HURRY_MS) : intervalMs, step, 'client')
  }

  /** Asks to be let go: settles when no partition is led here any more, at the latest after `timeoutMs`. */
  leave(timeoutMs: number): Later<void> {
    if (this.#leaving !== undefined) return this.#leaving
    const leaving = new Later<void>(this.#env.turns)
    this.#leaving = leaving
    if (!this.#link.mayFail || this.#brokerEpoch < 0) {
      leaving.settle()
      return leaving
    }
    const late = this.#env.timer(timeoutMs, () => leaving.settle(), 'client')
    leaving.whenSettled(() => late.cancel())
    this.#heartbeat()
    return leaving
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }
}
