/**
 * The handle that `startBroker` gives, around a broker that runs in this thread or in a worker. It says no once the broker is
 * closed, and closes once.
 */
import type { RequestFilter } from '../broker/request-log.ts'
import type { AdvanceOptions, BrokerMethods, BrokerSnapshot } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { Faulter } from './faults-on-demand.ts'
import { checkTopic, type TopicOption } from './options.ts'
import type { BrokerFacts, RunningBroker } from './running-broker.ts'

/** A broker as whoever started it has it. */
export interface StartedBroker {
  readonly facts: BrokerFacts
  readonly methods: BrokerMethods
  /** Called once. */
  close(): Promise<void>
}

export class BrokerHandle extends Faulter implements RunningBroker {
  readonly bootstrapServers: string
  readonly host: string
  readonly port: number
  readonly clusterId: string
  readonly http: string | undefined
  readonly #started: StartedBroker
  #closing: Promise<void> | undefined

  constructor(started: StartedBroker) {
    super()
    const { facts } = started
    this.bootstrapServers = facts.bootstrapServers
    this.host = facts.host
    this.port = facts.port
    this.clusterId = facts.clusterId
    this.http = facts.http
    this.#started = started
  }

  /** @internal */
  protected get methods(): BrokerMethods {
    if (this.#closing !== undefined) throw new OttlaError('OTTLA_BROKER_CLOSED', 'the broker is closed')
    return this.#started.methods
  }

  /** @internal */
  protected get faultMethods(): BrokerMethods {
    return this.methods
  }

  async createTopic(topic: string | TopicOption) {
    return this.methods.createTopic(checkTopic(topic))
  }

  async describe() {
    return this.methods.describe()
  }

  async requests(filter?: RequestFilter) {
    return this.methods.requests(filter)
  }

  async trace(filter?: RequestFilter) {
    return this.methods.trace(filter)
  }

  async now() {
    return this.methods.now()
  }

  async advance(time: number | string, options?: AdvanceOptions) {
    return this.methods.advance(time, options)
  }

  async reset() {
    return this.methods.reset()
  }

  async snapshot() {
    return this.methods.snapshot()
  }

  async restore(snapshot: BrokerSnapshot) {
    return this.methods.restore(snapshot)
  }

  close(): Promise<void> {
    this.#closing ??= this.#started.close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
