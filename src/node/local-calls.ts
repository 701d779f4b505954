/**
 * What is the same to ask of any broker in this thread, whether it is alone (local-methods.ts) or one of a cluster (local-node.ts): what it is and
 * has answered, its members, its faults.
 */
import type { Broker } from '../broker/broker.ts'
import { describeBroker } from '../broker/describe.ts'
import { evictMembers } from '../broker/evict.ts'
import type { NamedFault } from '../broker/faults/named-faults.ts'
import type { RequestFilter } from '../broker/request-log.ts'
import type { FaultId } from './broker-methods.ts'
import { inEvent } from './in-event.ts'
import { LocalFaults } from './local-faults.ts'
import type { SharedMethods } from './node-methods.ts'
import type { SystemEnv } from './system-env.ts'
import { Waits } from './waits.ts'

export abstract class LocalCalls implements SharedMethods {
  protected readonly env: SystemEnv
  protected readonly faults: LocalFaults
  protected readonly waits: Waits
  readonly #brokerNow: () => Broker

  /** @param broker the broker as it is now: another after a reset, or after it was started again */
  constructor(env: SystemEnv, broker: () => Broker) {
    this.env = env
    this.#brokerNow = broker
    this.faults = new LocalFaults(env, broker)
    this.waits = new Waits(env)
  }

  protected get broker(): Broker {
    return this.#brokerNow()
  }

  /** Ends what waits. */
  close(): void {
    this.waits.close()
  }

  async describe() {
    return describeBroker(this.broker)
  }

  async requests(filter?: RequestFilter) {
    return this.broker.requestLog.records(filter)
  }

  async evictMembers(groupId?: string) {
    const reason = 'a test took it out'
    return inEvent(this.env, () => evictMembers(this.broker, { groupId, reason }))
  }

  async addNamedFault(named: NamedFault) {
    return this.faults.addNamed(named)
  }

  async endFault(id: FaultId) {
    this.faults.end(id)
  }
}
