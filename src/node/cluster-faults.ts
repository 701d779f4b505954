/**
 * Faults on demand in a cluster: one fault is in force in several brokers, which count it together, so that `times: 1` is one request wherever it
 * arrives. A broker that is started again has the faults that it had. Leaders and coordinators that are to move really do, to another broker in
 * sync if there is one. What a fault does to a request is src/broker/faults.
 */
import type { FaultRule } from '../broker/faults/fault-rule.ts'
import {
  type NamedFault,
  ruleOfMovedCoordinator,
  rulesOfDisk,
  rulesOfMovedLeader,
} from '../broker/faults/named-faults.ts'
import { metIn, newTally, type TallyCells } from '../broker/faults/tally.ts'
import { CONSUMER_OFFSETS } from '../broker/internal-topics.ts'
import type { Hub } from '../cluster/index.ts'
import { coordinatorPartition } from '../core/java-hash.ts'
import type { FaultId, FaultMethods } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { lastToGo } from './local-faults.ts'
import type { ClusterNode } from './node-methods.ts'
import { invalid } from './options.ts'
import type { SystemEnv } from './system-env.ts'
import type { Waits } from './waits.ts'

/** One rule, and where it is in force. */
interface Part {
  readonly rule: FaultRule
  readonly tally: TallyCells
  /** The brokers that are to have it. */
  readonly brokers: readonly number[]
  /** The number under which each has it. */
  readonly ids: Map<number, FaultId>
}

interface ClusterFault {
  readonly parts: Part[]
  /** Storms of rebalances, which meet no requests: the brokers where they were begun. */
  readonly storms: Map<number, FaultId>
  ended: boolean
}

interface ClusterFaultsOptions {
  readonly env: SystemEnv
  readonly hub: Hub
  readonly nodes: ReadonlyMap<number, ClusterNode>
  readonly waits: Waits
}

export class ClusterFaults {
  readonly #env: SystemEnv
  readonly #hub: Hub
  readonly #nodes: ReadonlyMap<number, ClusterNode>
  readonly #waits: Waits
  readonly #faults = new Map<FaultId, ClusterFault>()
  #isClosed = false

  constructor({ env, hub, nodes, waits }: ClusterFaultsOptions) {
    this.#env = env
    this.#hub = hub
    this.#nodes = nodes
    this.#waits = waits
  }

  /** The cluster closes: nothing can be asked for any more. */
  close(): void {
    this.#isClosed = true
  }

  /**
   * What can be asked for in all brokers, or in one.
   *
   * @throws OttlaError `OTTLA_BROKER_CLOSED` once the cluster is closed
   */
  in(brokerId?: number): FaultMethods {
    if (this.#isClosed) throw new OttlaError('OTTLA_BROKER_CLOSED', 'the cluster is closed')
    const brokers = brokerId === undefined ? [...this.#nodes.keys()] : [brokerId]
    return {
      addFault: rule => this.#add([{ rule, brokers }]),
      addNamedFault: named => this.#addNamed(named, brokers),
      endFault: id => this.#end(this.#of(id)),
      faultCount: async id => countOf(this.#of(id)),
      metBy: (id, count, timeoutMs) => this.#metBy(this.#of(id), count, timeoutMs),
      heldBy: async id => (await this.#held(this.#of(id))).length,
      arrivedAt: (id, count, timeoutMs) => this.#arrivedAt(this.#of(id), count, timeoutMs),
      releaseFrom: (id, count) => this.#release(this.#of(id), count),
    }
  }

  #of(id: FaultId): ClusterFault {
    const fault = this.#faults.get(id)
    if (fault === undefined) throw invalid(`there is no fault ${id}`)
    return fault
  }

  async #add(rules: readonly Pick<Part, 'rule' | 'brokers'>[]): Promise<FaultId> {
    const parts = rules.map(({ rule, brokers }) => {
      return { rule, brokers, tally: newTally({ shared: true }), ids: new Map<number, FaultId>() }
    })
    const fault = { parts, storms: new Map<number, FaultId>(), ended: false }
    const id = this.#faults.size + 1
    this.#faults.set(id, fault)
    try {
      await Promise.all(parts.flatMap(part => part.brokers.map(broker => this.#putInForce(fault, part, broker))))
    } catch (error) {
      await this.#end(fault)
      throw error
    }
    return id
  }

  /** A broker that does not run gets it when it is started. */
  async #putInForce(fault: ClusterFault, { rule, tally, ids }: Part, broker: number): Promise<void> {
    ids.delete(broker)
    if (!this.#isUp(broker)) return
    const id = await this.#methods(broker).addFault(rule, tally)
    if (fault.ended) return this.#methods(broker).endFault(id)
    ids.set(broker, id)
  }

  #isUp(broker: number): boolean {
    return this.#hub.place(broker).isUp
  }

  #methods(broker: number) {
    return (this.#nodes.get(broker) as ClusterNode).methods
  }

  /** A broker was started: it has what it is to have before anybody can ask it. */
  async started(broker: number): Promise<void> {
    const due = [...this.#faults.values()].filter(({ ended }) => !ended)
    await Promise.all(
      due.flatMap(fault => {
        fault.storms.delete(broker)
        const own = fault.parts.filter(({ brokers }) => brokers.includes(broker))
        return own.map(part => this.#putInForce(fault, part, broker))
      }),
    )
  }

  /** The brokers that had them are gone for good: none is in force any more. */
  forget(): void {
    for (const fault of this.#faults.values()) {
      fault.ended = true
      for (const { ids } of fault.parts) ids.clear()
      fault.storms.clear()
    }
  }

  async #addNamed(named: NamedFault, brokers: readonly number[]): Promise<FaultId> {
    switch (named.name) {
      case 'diskFull':
      case 'slowDisk':
        return this.#add(rulesOfDisk(named).map(rule => ({ rule, brokers })))
      case 'leaderMoves':
        return this.#addMoved(await this.#move(named.topic, named.partition), partition =>
          rulesOfMovedLeader(named.topic, partition),
        )
      case 'coordinatorMoves': {
        const count = this.#partitionsOf(CONSUMER_OFFSETS).length
        const moved = count === 0 ? [] : await this.#move(CONSUMER_OFFSETS, coordinatorPartition(named.group, count))
        return this.#addMoved(moved, () => [ruleOfMovedCoordinator(named.group)])
      }
      case 'rebalanceStorm':
        return this.#storm(named, brokers)
    }
  }

  #partitionsOf(topic: string) {
    return this.#hub.image.topicsByName.get(topic)?.partitions ?? []
  }

  /** Other brokers in sync lead, where there are any. Resolves with who led before, once it is decided. */
  async #move(topic: string, partition?: number): Promise<{ partition: number; leader: number }[]> {
    const led = this.#partitionsOf(topic)
      .filter(({ partitionId, leader }) => leader >= 0 && (partition ?? partitionId) === partitionId)
      .map(({ partitionId, leader }) => ({ partition: partitionId, leader }))
    if (led.length > 0) {
      await this.#env.settled(() => this.#hub.raiseLeaderEpochs({ topic, partition, elsewhere: true }))
    }
    return led
  }

  /** Who led says so once to every connection, even where it leads again for lack of another. */
  #addMoved(
    moved: readonly { partition: number; leader: number }[],
    rulesOf: (partition: number) => FaultRule[],
  ): Promise<FaultId> {
    return this.#add(
      moved.flatMap(({ partition, leader }) => rulesOf(partition).map(rule => ({ rule, brokers: [leader] }))),
    )
  }

  /** Whoever coordinates the group has it; the others find nothing to do. */
  async #storm(named: NamedFault, brokers: readonly number[]): Promise<FaultId> {
    const id = await this.#add([])
    const { storms } = this.#of(id)
    const up = brokers.filter(broker => this.#isUp(broker))
    await Promise.all(
      up.map(async broker => {
        storms.set(broker, await this.#methods(broker).addNamedFault(named))
      }),
    )
    return id
  }

  async #end(fault: ClusterFault): Promise<void> {
    fault.ended = true
    const all = [...fault.parts.map(({ ids }) => ids), fault.storms].flatMap(ids => [...ids])
    await Promise.all(
      all.filter(([broker]) => this.#isUp(broker)).map(([broker, id]) => this.#methods(broker).endFault(id)),
    )
  }

  async #metBy(fault: ClusterFault, count: number, timeoutMs: number): Promise<void> {
    await this.#waits.for<true>({
      what: `${count} requests that meet the fault`,
      timeoutMs,
      look: () => countOf(fault) >= count || undefined,
      seen: () => `${countOf(fault)}`,
    })
  }

  /** Where the requests stand that wait, in the order in which they came, over all brokers. */
  async #held({ parts }: ClusterFault): Promise<number[]> {
    const lists = await Promise.all(parts.flatMap(({ ids }) => this.#each(ids, (methods, id) => methods.heldBy(id))))
    return lists.flat().sort((a, b) => a - b)
  }

  #each<T>(
    ids: ReadonlyMap<number, FaultId>,
    ask: (methods: ClusterNode['methods'], id: FaultId) => Promise<T>,
  ): Promise<T>[] {
    return [...ids].filter(([broker]) => this.#isUp(broker)).map(([broker, id]) => ask(this.#methods(broker), id))
  }

  async #arrivedAt(fault: ClusterFault, count: number, timeoutMs: number): Promise<void> {
    await this.#waits.for<true>({
      what: `${count} requests at the gate`,
      timeoutMs,
      look: async () => (await this.#held(fault)).length >= count || undefined,
      seen: async () => `${(await this.#held(fault)).length}`,
    })
  }

  async #release(fault: ClusterFault, count?: number): Promise<number> {
    const last = lastToGo(count === undefined ? [] : await this.#held(fault), count)
    if (last === undefined) fault.ended = true
    const released = await Promise.all(
      fault.parts.flatMap(({ ids }) => this.#each(ids, (methods, id) => methods.releaseFrom(id, last))),
    )
    return released.reduce((sum, each) => sum + each, 0)
  }
}

function countOf({ parts }: ClusterFault): number {
  return parts.reduce((sum, { tally }) => sum + metIn(tally), 0)
}
