/**
 * The faults on demand that somebody outside has put in force in a broker of this thread, by the numbers that stand for them elsewhere.
 */
import type { Broker } from '../broker/broker.ts'
import type { Fault } from '../broker/faults/fault.ts'
import type { FaultRule } from '../broker/faults/fault-rule.ts'
import type { Faults } from '../broker/faults/faults.ts'
import { addNamedFault, type NamedFault } from '../broker/faults/named-faults.ts'
import type { TallyCells } from '../broker/faults/tally.ts'
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

  /** @param tally what other brokers with the same fault count along in */
  add(rule: FaultRule, tally?: TallyCells): FaultId {
    const { faults } = this.#broker()
    const problem = faults.problemOf(rule)
    if (problem !== undefined) throw new OttlaError('OTTLA_INVALID_OPTION', problem)
    return this.#keep([faults.add(rule, tally)])
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

  /** The places of the requests that wait at it, among all that ever did; in order. */
  held(id: FaultId): number[] {
    const all = this.#of(id).faults.flatMap(({ held }) => [...held].map(({ order }) => order))
    return all.sort((a, b) => a - b)
  }

  /** Lets those go on whose place is not behind `last`, or all, which ends it. Returns how many went. */
  release(id: FaultId, last?: number): number {
    const { owner, faults } = this.#of(id)
    let released = 0
    this.#env.event(() => {
      for (const fault of faults) {
        for (const each of [...fault.held]) {
          if (last !== undefined && each.order > last) continue
          each.release()
          released++
        }
        if (last === undefined) owner.end(fault)
      }
    })
    return released
  }
}

/** The place up to which requests are let go on for `count` of them to go; undefined for all. */
export function lastToGo(held: readonly number[], count: number | undefined): number | undefined {
  if (count === undefined) return undefined
  return count < 1 || held.length === 0 ? -1 : held[Math.min(count, held.length) - 1]
}
