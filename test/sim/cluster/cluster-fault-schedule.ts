/** Lets happen to a cluster what the plan has in store: each fault at its time, with an end, and nothing any more once all heals. */

import { ask } from '../../../src/broker/forward.ts'
import { CONTROLLER } from '../../../src/cluster/network.ts'
import type { VirtualEnv } from '../../../src/util/virtual-env.ts'
import type { Chance } from '../chance.ts'
import { type CrashKind, Violation } from '../history.ts'
import type { SimulatedNetwork } from '../network.ts'
import { type DiskFaults, GOOD_DAY } from '../simulated-disk.ts'
import type { ClusterFaults, ClusterPlan } from './cluster-plan.ts'
import type { SimulatedCluster } from './simulated-cluster.ts'

export interface ClusterFaultTargets {
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly cluster: SimulatedCluster
  readonly started: (id: number) => void
  /** Members of groups come and go. */
  readonly changeMembers: () => void
  /** Somebody deletes records. */
  readonly deleteRecords: () => void
  readonly trace: (text: string) => void
}

const HOUR_MS = 3_600_000

export class ClusterFaultSchedule {
  readonly #plan: ClusterPlan
  readonly #targets: ClusterFaultTargets
  readonly #chance: Chance
  readonly #pending = new Set<{ run: () => void }>()
  /** Brokers whose disks failed: logs may be offline until the next start. */
  readonly #needsRestart = new Set<number>()
  #over = false

  constructor(plan: ClusterPlan, targets: ClusterFaultTargets, chance: Chance) {
    this.#plan = plan
    this.#targets = targets
    this.#chance = chance
  }

  /** Sets all of them out over the time of the work. */
  begin(): void {
    const { faults, workMs } = this.#plan
    for (const [fault, count] of Object.entries(faults) as [keyof ClusterFaults, number][]) {
      for (let index = 0; index < count; index++) {
        this.#targets.world.timer(this.#chance.below(workMs), () => {
          if (!this.#over) this.#happen(fault)
        })
      }
    }
  }

  #happen(fault: keyof ClusterFaults): void {
    const { network, cluster, changeMembers, deleteRecords, trace } = this.#targets
    const chance = this.#chance
    const id = chance.pick(this.#plan.brokerIds)
    if (fault !== 'resets') trace(`fault: ${fault} (broker ${id})`)
    switch (fault) {
      case 'resets':
        return network.resetOne()
      case 'slowReaders':
        return network.slowReader(chance.between(100, 3000))
      case 'cutOffs':
        network.cutOff(cluster.address(id))
        return this.#later(chance.between(50, 3000), () => network.restore(cluster.address(id)))
      case 'memberChanges':
        return changeMembers()
      case 'deletions':
        return deleteRecords()
      case 'kills':
        return this.#strike(id, 'kill')
      case 'powerCuts':
        return this.#strike(id, 'power')
      case 'stops':
        return cluster.stop(id, () => this.crash(id, 'stop'))
      case 'pauses':
        cluster.pause(id)
        return this.#later(chance.between(100, 4000), () => cluster.resume(id))
      case 'elections':
        return this.#elect(id)
      case 'diskErrors':
        this.#needsRestart.add(id)
        return this.#spoil(id, {
          writeFails: chance.pick([0, 0.02, 0.3]),
          syncFails: chance.pick([0, 0.1, 1]),
          readFails: chance.pick([0, 0.02, 0.3]),
        })
      case 'fullDisks':
        return this.#spoil(id, { full: true })
      case 'reassignments':
        return this.#reassign(id)
      case 'clusterKills':
        return this.#strikeAll('kill')
      case 'clusterPowerCuts':
        return this.#strikeAll('power')
      case 'clusterStops':
        return cluster.isDown ? undefined : cluster.stopAll(() => this.#crashAll('stop'))
      case 'clockJumps':
        return cluster.moveClock(id, chance.pick([-HOUR_MS, -3000, 3000, HOUR_MS]))
      default:
        return this.#disturb(fault, id)
    }
  }

  /** Links are cut, slow, or carry everything twice. */
  #disturb(fault: 'linkCuts' | 'isolations' | 'slowLinks' | 'doubledLinks', id: number): void {
    const { cluster, trace } = this.#targets
    const chance = this.#chance
    const others = [CONTROLLER, ...this.#plan.brokerIds].filter(each => each !== id)
    const other = chance.pick(others)
    const both: [number, number][] = [
      [id, other],
      [other, id],
    ]
    const ways =
      fault === 'isolations'
        ? others.flatMap((each): [number, number][] => [
            [id, each],
            [each, id],
          ])
        : chance.maybe(0.5)
          ? both
          : [chance.pick(both)]
    trace(`${fault}: ${ways.map(([from, to]) => `${from}>${to}`)}`)
    const delayMs = chance.between(20, 1500)
    const { network } = cluster.cluster
    for (const [from, to] of ways) {
      if (fault === 'slowLinks') network.slow(from, to, delayMs)
      else if (fault === 'doubledLinks') network.double(from, to)
      else network.cut(from, to)
    }
    this.#later(chance.between(100, 4000), () => {
      cluster.do(() => {
        for (const [from, to] of ways) cluster.healWay(from, to)
      })
    })
  }

  #elect(id: number): void {
    const { cluster } = this.#targets
    if (!cluster.isCurrent(id)) return
    const electionType = this.#plan.unclean && this.#chance.maybe(0.5) ? 1 : 0
    const request = { electionType, topicPartitions: null, timeoutMs: 1000 }
    cluster.do(() => ask('electLeaders', request, { broker: cluster.cluster.broker(id), apiVersion: 2 }))
  }

  #spoil(id: number, faults: Partial<DiskFaults>): void {
    const { disk } = this.#targets.cluster.machine(id)
    Object.assign(disk.faults, faults)
    this.#later(this.#chance.between(20, 1500), () => Object.assign(disk.faults, GOOD_DAY))
  }

  /** A process cannot begin, as on a disk that fails. On a good disk it has to. */
  gaveUp(id: number, reason: string): void {
    this.#targets.trace(`broker ${id} gives up: ${reason}`)
    const isExcused = this.#targets.cluster.machine(id).disk.isBad || this.#needsRestart.has(id)
    if (!isExcused) throw new Violation('faults', `broker ${id}: ${reason}`)
    this.crash(id, 'kill')
  }

  /** A partition gets other replicas, in another order or number; or what is under way of that is called off. */
  #reassign(id: number): void {
    const { cluster, trace } = this.#targets
    const chance = this.#chance
    const all = [...cluster.cluster.image.topicsByName.values()]
    const partitions = all.flatMap(({ name, partitions }) => partitions.map(each => ({ name, ...each })))
    const { name, partitionId, addingReplicas, removingReplicas } = chance.pick(partitions)
    const isMoving = addingReplicas.length + removingReplicas.length > 0
    const count = chance.pick([1, 2, 2, 3, 3])
    const replicas = isMoving && chance.maybe(0.3) ? null : chance.shuffled(this.#plan.brokerIds).slice(0, count)
    trace(`reassigning ${name}-${partitionId}: ${replicas}`)
    if (!cluster.isCurrent(id)) return
    const topics = [{ name, partitions: [{ partitionIndex: partitionId, replicas }] }]
    const request = { timeoutMs: 1000, allowReplicationFactorChange: true, topics }
    const context = { broker: cluster.cluster.broker(id), apiVersion: 1 }
    cluster.do(() => ask('alterPartitionReassignments', request, context))
  }

  /** Between two events, or in the middle of one, between two changes of the disk. */
  #strike(id: number, kind: CrashKind): void {
    const { cluster, trace } = this.#targets
    if (cluster.isDown) return
    if (this.#plan.storage === 'memory' || this.#chance.maybe(0.5)) return this.crash(id, kind)
    cluster.strike(id, this.#chance.below(30), () => {
      trace(`broker ${id} was struck in the middle of a turn`)
      this.crash(id, kind)
    })
  }

  /** All brokers and the controller: between two events, or in the middle of one, between two changes of some disk. */
  #strikeAll(kind: CrashKind): void {
    const { cluster, trace } = this.#targets
    if (cluster.isDown) return
    if (this.#chance.maybe(0.5)) return this.#crashAll(kind)
    cluster.strikeAll(this.#chance.pick([undefined, ...this.#plan.brokerIds]), this.#chance.below(30), () => {
      trace('all brokers and the controller were struck in the middle of a turn')
      this.#crashAll(kind)
    })
  }

  #crashAll(kind: CrashKind | 'stop'): void {
    const { cluster, started } = this.#targets
    cluster.crashAll(kind)
    this.#later(this.#chance.between(5, 4000), () => cluster.begin(started))
  }

  /** Ends a process; it is started again after a while. */
  crash(id: number, kind: CrashKind | 'stop'): void {
    const { cluster, started } = this.#targets
    const { disk, running } = cluster.machine(id)
    if (running === undefined || cluster.isDown) return
    cluster.crash(id, kind)
    if (!disk.isBad) this.#needsRestart.delete(id)
    this.#later(this.#chance.between(5, 4000), () => cluster.start(id, () => started(id)))
  }

  /** Runs at its time, or when all heals, if that is earlier. */
  #later(ms: number, run: () => void): void {
    const pending = { run }
    this.#pending.add(pending)
    const due = () => {
      if (this.#pending.delete(pending)) run()
    }
    // Whoever was being stopped when all healed is started, too.
    if (this.#over) this.#targets.world.timer(1, due)
    else this.#targets.world.timer(ms, due)
  }

  /** Ends all faults; brokers run again. */
  heal(): void {
    const { cluster } = this.#targets
    this.#over = true
    for (const disk of cluster.disks) disk.strikeAfter(Number.POSITIVE_INFINITY, () => {})
    for (const { id, disk } of cluster.machines) {
      Object.assign(disk.faults, GOOD_DAY)
      // Whoever has met errors of the disk is started anew, as its operator would.
      if (this.#needsRestart.has(id)) this.crash(id, 'kill')
    }
    for (const pending of [...this.#pending]) if (this.#pending.delete(pending)) pending.run()
    for (const { id } of cluster.machines) cluster.resume(id)
    cluster.setClocks()
  }
}
