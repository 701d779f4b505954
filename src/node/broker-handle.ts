/**
 * The handle that `startBroker` gives, around a broker that runs in this thread or in a worker. It says no once the broker is
 * closed, and closes once.
 */
import type { FaultRule, HoldTarget } from '../broker/faults/fault-rule.ts'
import type { NamedFault } from '../broker/faults/named-faults.ts'
import type { RequestFilter } from '../broker/request-log.ts'
import type { AdvanceOptions, BrokerMethods, BrokerSnapshot, FaultId } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { type FaultHandle, faultHandle, gate } from './fault-handles.ts'
import type { BrokerFacts, RunningBroker } from './running-broker.ts'

/** A broker as whoever started it has it. */
export interface StartedBroker {
  readonly facts: BrokerFacts
  readonly methods: BrokerMethods
  /** Called once. */
  close(): Promise<void>
}

export class BrokerHandle implements RunningBroker {
  readonly bootstrapServers: string
  readonly host: string
  readonly port: number
  readonly clusterId: string
  readonly http: string | undefined
  readonly #started: StartedBroker
  #closing: Promise<void> | undefined

  constructor(started: StartedBroker) {
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

  async fault(rule: FaultRule) {
    return this.#handleOf(await this.methods.addFault(rule))
  }

  async hold(target: string | HoldTarget) {
    const rule = typeof target === 'string' ? { api: target } : target
    const id = await this.methods.addFault({ ...rule, hold: true })
    return gate(() => this.methods, id)
  }

  async leaderMoves(topic: string, { partition }: { partition?: number } = {}) {
    return this.#named({ name: 'leaderMoves', topic, partition })
  }

  async coordinatorMoves(group: string) {
    return this.#named({ name: 'coordinatorMoves', group })
  }

  async diskFull() {
    return this.#named({ name: 'diskFull' })
  }

  async slowDisk(delayMs = 1000) {
    return this.#named({ name: 'slowDisk', delayMs })
  }

  async rebalanceStorm(group: string, { times = 3, everyMs = 1000 }: { times?: number; everyMs?: number } = {}) {
    return this.#named({ name: 'rebalanceStorm', group, times, everyMs })
  }

  async #named(fault: NamedFault): Promise<FaultHandle> {
    return this.#handleOf(await this.methods.addNamedFault(fault))
  }

  #handleOf(id: FaultId): FaultHandle {
    return faultHandle(() => this.methods, id)
  }

  close(): Promise<void> {
    this.#closing ??= this.#started.close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
