/**
 * The faults on demand that somebody outside has put in force in a broker of this thread, by the numbers that stand for them elsewhere.
 */
import type { Broker } from '../broker/broker.ts'
import type { Fault } from '../broker/faults/fault.ts'
import type { FaultRule } from '../broker/faults/fault-rule.ts'
import { type Faults, release } from '../broker/faults/faults.ts'
import { addNamedFault, type NamedFault } from '../broker/faults/named-faults.ts'
import type { FaultId } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import type { SystemEnv } from './system-env.ts'

export class LocalFaults {
  readonly #env: SystemEnv
  readonly #broker: () => Broker
  /** Those that one call put in force, and the faults of the broker in which it did. */
  readonly #faults = new Map<FaultId, { owner: Faults; faults: readonly Fault[] }>()

  /** @param broker the broker as it is now: another after a reset, or a restart */
  constructor(env: SystemEnv, broker: () => Broker) {
    this.#env = env
    this.#broker = broker
  }

  add(rule: FaultRule): FaultId {
    const { faults } = this.#broker()
    const problem = faults.problemOf(rule)
    if (problem !== undefined) throw new OttlaError('OTTLA_INVALID_OPTION', problem)
    return this.#keep([faults.add(rule)])
  }

  addNamed(named: NamedFault): FaultId {
    let faults: Fault[] = []
    this.#env.event(() => {
      faults = addNamedFault(this.#broker(), named)
    })
    return this.#keep(faults)
  }

  #keep(faults: Fault[]): FaultId {
    const id = this.#faults.size + 1
    this.#faults.set(id, { owner: this.#broker().faults, faults })
    return id
  }

  /** After a reset the faults of the broker before are ended, and asking about them is no mistake. */
  #of(id: FaultId) {
    const kept = this.#faults.get(id)
    if (kept === undefined) throw new OttlaError('OTTLA_INVALID_OPTION', `there is no fault ${id}`)
    return kept
  }

  end(id: FaultId): void {
    const { owner, faults } = this.#of(id)
    this.#env.event(() => {
      for (const fault of faults) owner.end(fault)
    })
  }

  /** How many requests have met it. */
  count(id: FaultId): number {
    return this.#of(id).faults.reduce((sum, { count }) => sum + count, 0)
  }

  /** How many requests wait at it. */
  held(id: FaultId): number {
    return this.#of(id).faults.reduce((sum, { held }) => sum + held.size, 0)
  }

  /** Lets the first `count` go on that wait, or all, which ends it. Returns how many went. */
  release(id: FaultId, count?: number): number {
    const { owner, faults } = this.#of(id)
    let released = 0
    this.#env.event(() => {
      for (const fault of faults) {
        released += release(fault, count)
        if (count === undefined) owner.end(fault)
      }
    })
    return released
  }
}
