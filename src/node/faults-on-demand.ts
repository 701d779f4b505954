/**
 * What can be made to go wrong, as one broker, a cluster and one broker of a cluster offer it: the same calls, made of those that cross to
 * wherever the broker runs. What the handles they give can do is in fault-handles.ts.
 */
import type { FaultRule, HoldTarget } from '../broker/faults/fault-rule.ts'
import type { NamedFault } from '../broker/faults/named-faults.ts'
import type { FaultId, FaultMethods } from './broker-methods.ts'
import { type FaultHandle, faultHandle, type Gate, gate } from './fault-handles.ts'

/** What goes wrong with requests, and with the disk under them. */
export interface RequestFaults {
  /**
   * Lets something go wrong, for the requests that the rule says; in a cluster in whatever broker they arrive, counted together.
   *
   * @throws OttlaError `OTTLA_INVALID_OPTION` for a rule that cannot be, `OTTLA_BROKER_CLOSED` once the broker is closed.
   *
   * @example
   * // The record is appended, and the producer never hears of it: it has to send again.
   * await broker.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })
   */
  fault(rule: FaultRule): Promise<FaultHandle>
  /**
   * Holds requests of an API, or those that a rule matches, until they are released; with `acted: true` their answers.
   *
   * @example
   * const gate = await broker.hold('SyncGroup')
   * await gate.arrived(2)
   * await gate.release()
   */
  hold(target: string | HoldTarget): Promise<Gate>
  /** Until it is ended, appends are refused as with a full disk: Produce KAFKA_STORAGE_ERROR, OffsetCommit NOT_COORDINATOR. */
  diskFull(): Promise<FaultHandle>
  /** Until it is ended, Produce and OffsetCommit are worked on `delayMs` later, a second by default. */
  slowDisk(delayMs?: number): Promise<FaultHandle>
}

/** The same, and what goes wrong with topics and groups. */
export interface FaultsOnDemand extends RequestFaults {
  /**
   * The leaders of a topic move: epochs rise, and every connection hears NOT_LEADER_OR_FOLLOWER once for each API that asks
   * leaders, so that clients look for the leader again. In a cluster they find the next replica in sync, alone the same broker.
   */
  leaderMoves(topic: string, options?: { partition?: number }): Promise<FaultHandle>
  /**
   * The coordinator of a group moves, in a cluster to another broker: whoever waits for a rebalance is told NOT_COORDINATOR, the group is
   * loaded anew from what was committed, and every connection hears NOT_COORDINATOR once.
   */
  coordinatorMoves(group: string): Promise<FaultHandle>
  /** Begins `times` rebalances of a group (3), the next after `everyMs` (1000), whatever its members do. */
  rebalanceStorm(group: string, options?: { times?: number; everyMs?: number }): Promise<FaultHandle>
}

/** Whoever has the calls has these. */
export abstract class RequestFaulter implements RequestFaults {
  /** @internal */
  protected abstract get faultMethods(): FaultMethods

  async fault(rule: FaultRule) {
    return this.#handleOf(await this.faultMethods.addFault(rule))
  }

  async hold(target: string | HoldTarget) {
    const rule = typeof target === 'string' ? { api: target } : target
    const id = await this.faultMethods.addFault({ ...rule, hold: true })
    return gate(() => this.faultMethods, id)
  }

  async diskFull() {
    return this.namedFault({ name: 'diskFull' })
  }

  async slowDisk(delayMs = 1000) {
    return this.namedFault({ name: 'slowDisk', delayMs })
  }

  /** @internal */
  protected async namedFault(fault: NamedFault): Promise<FaultHandle> {
    return this.#handleOf(await this.faultMethods.addNamedFault(fault))
  }

  #handleOf(id: FaultId): FaultHandle {
    return faultHandle(() => this.faultMethods, id)
  }
}

export abstract class Faulter extends RequestFaulter implements FaultsOnDemand {
  async leaderMoves(topic: string, { partition }: { partition?: number } = {}) {
    return this.namedFault({ name: 'leaderMoves', topic, partition })
  }

  async coordinatorMoves(group: string) {
    return this.namedFault({ name: 'coordinatorMoves', group })
  }

  async rebalanceStorm(group: string, { times = 3, everyMs = 1000 }: { times?: number; everyMs?: number } = {}) {
    return this.namedFault({ name: 'rebalanceStorm', group, times, everyMs })
  }
}
