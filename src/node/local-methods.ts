/**
 * What a broker in this thread does when it is asked: the one implementation of {@link BrokerMethods}; all others pass calls on
 * to it.
 */
import type { Broker } from '../broker/broker.ts'
import { describeBroker } from '../broker/describe.ts'
import { parseDuration } from '../util/duration.ts'
import type { AdvanceOptions, BrokerMethods } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import type { SystemEnv } from './system-env.ts'

export class LocalMethods implements BrokerMethods {
  readonly #env: SystemEnv
  readonly #broker: () => Broker

  constructor(env: SystemEnv, broker: () => Broker) {
    this.#env = env
    this.#broker = broker
  }

  async describe() {
    return describeBroker(this.#broker())
  }

  async requests() {
    return this.#broker().requestLog.records()
  }

  async advance(time: number | string, { sessions }: AdvanceOptions = {}) {
    const ms = parseDuration(time)
    if (ms === undefined) {
      const hint = "write it in milliseconds, or as '7d', '1h30m', '250ms'"
      throw new OttlaError('OTTLA_INVALID_OPTION', `not a span of time: ${time}`, { hint })
    }
    if (!this.#env.aheadOfClients) {
      const hint = "start it with startBroker({ time: 'virtual' })"
      throw new OttlaError('OTTLA_WRONG_MODE', "the broker's clock is the real one, which cannot be moved", { hint })
    }
    this.#env.advance(ms, { clients: sessions })
  }
}
