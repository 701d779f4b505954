/**
 * A simulation of three brokers from one seed: each on a disk of its own, links between them, clients on a network, work, faults, and checkers
 * that look after each event. In the end all heals: everybody must finish what they began, and all replicas must be the same.
 */

import { unsettled } from '../../../src/cluster/unsettled.ts'
import { VirtualEnv } from '../../../src/util/virtual-env.ts'
import { Chance } from '../chance.ts'
import { type Checker, History, Violation } from '../history.ts'
import { SimulatedNetwork } from '../network.ts'
import { Steps } from '../steps.ts'
import { AdminActor } from '../workload/admin-actor.ts'
import type { ClientWorld } from '../workload/client-process.ts'
import { Members } from '../workload/members.ts'
import { ProducerActor } from '../workload/producer-actor.ts'
import { CoordinatorOffsets } from './checkers/coordinator-offsets.ts'
import { LeaderEpochs } from './checkers/leader-epochs.ts'
import { LogStarts } from './checkers/log-starts.ts'
import { PartitionOwners } from './checkers/partition-owners.ts'
import { Replicas } from './checkers/replicas.ts'
import { ReplicatedRecords } from './checkers/replicated-records.ts'
import { ClusterFaultSchedule } from './cluster-fault-schedule.ts'
import { type ClusterPlan, drawClusterPlan, type WantedClusterPlan } from './cluster-plan.ts'
import { ReplicaWatch } from './replica-watch.ts'
import { SimulatedCluster } from './simulated-cluster.ts'

/** How long everything may take to come right once all faults have ended. */
const HEALING_MS = 120_000
/** After this nothing is left of clients that are gone. */
const SETTLING_MS = 10_000
const OFFSETS_TOPIC = '__consumer_offsets'

export interface ClusterSimulationOptions {
  readonly seed: number
  /** Settles some of what the seed would decide. */
  readonly plan?: WantedClusterPlan
  /** Is given what happens, line by line. */
  readonly trace?: (line: string) => void
}

export interface ClusterOutcome {
  readonly seed: number
  readonly plan: ClusterPlan
  /** What was broken: a {@link Violation}, or whatever a broker threw. */
  readonly error: Error | undefined
  readonly events: number
}

export function simulateCluster(options: ClusterSimulationOptions): ClusterOutcome {
  const simulation = new ClusterSimulation(options)
  let error: Error | undefined
  try {
    simulation.run()
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(String(thrown))
  }
  return { seed: options.seed, plan: simulation.plan, error, events: simulation.events }
}

class ClusterSimulation {
  readonly plan: ClusterPlan
  readonly #chance: Chance
  readonly #network: SimulatedNetwork
  readonly #cluster: SimulatedCluster
  readonly #history: History
  readonly #checkers: readonly Checker[]
  readonly #replicas: Replicas
  readonly #starts: LogStarts
  readonly #clients: ClientWorld
  readonly #faults: ClusterFaultSchedule
  readonly #trace: (text: string) => void
  readonly #members: Members
  readonly #steps: Steps
  #admin: AdminActor | undefined

  constructor({ seed, plan, trace }: ClusterSimulationOptions) {
    const chance = new Chance(seed)
    this.#chance = chance
    this.plan = drawClusterPlan(seed, chance.fork(), plan)
    const world = new VirtualEnv({ seed })
    const began = world.now()
    this.#trace = trace === undefined ? () => {} : text => trace(`${world.now() - began} ${text}`)
    this.#network = new SimulatedNetwork(world, chance.fork(), this.plan.network)
    this.#cluster = new SimulatedCluster({
      plan: this.plan,
      world,
      network: this.#network,
      chance: chance.fork(),
      controllerChance: Chance.for(seed, 'controller'),
      log: (level, message, fields) => {
        if (trace !== undefined) this.#trace(`${level}: ${message} ${JSON.stringify(fields)}`)
      },
      gaveUp: (id, reason) => this.#faults.gaveUp(id, reason),
      endingAll: kind => this.#replicas.endingAll(kind),
      struck: id => this.#replicas.struck(id),
      ending: (id, kind) => {
        this.#replicas.ending(id, kind)
        this.#history.add({ type: 'crashing', broker: id, kind })
      },
      ended: (id, kind) => {
        this.#history.add({ type: 'crashed', broker: id, kind })
        this.#replicas.ended()
      },
    })
    if (trace) this.#cluster.listen(event => this.#trace(`timeline: ${JSON.stringify(event)}`))
    const records = new ReplicatedRecords(() => this.#replicas)
    const watch = new ReplicaWatch(this.#cluster)
    this.#replicas = new Replicas(this.#cluster, this.plan, watch, records)
    const isExcused = (group: string) => this.#isExcused(group)
    const offsets = new CoordinatorOffsets(this.#cluster, isExcused)
    const owners = new PartitionOwners(() => this.#members.present, isExcused)
    const epochs = new LeaderEpochs(this.#cluster)
    const isRetained = (name: string) =>
      this.plan.topics.some(topic => topic.name === name && topic.configs['retention.bytes'] !== undefined)
    this.#starts = new LogStarts(this.#cluster, watch, this.#replicas, isRetained)
    this.#checkers = [watch, this.#replicas, records, epochs, owners, offsets, this.#starts]
    this.#history = new History(this.#checkers, trace && this.#trace)
    const { brokerIds } = this.plan
    this.#clients = { world, network: this.#network, history: this.#history, brokerIds }
    this.#steps = new Steps(world, this.#checkers)
    const { groups } = this.plan
    this.#members = new Members({ groups, clients: this.#clients, chance, trace: this.#trace })
    this.#faults = new ClusterFaultSchedule(
      this.plan,
      {
        world,
        network: this.#network,
        cluster: this.#cluster,
        started: id => this.#history.add({ type: 'started', broker: id }),
        changeMembers: () => this.#members.change(),
        deleteRecords: () => this.#admin?.deleteRecords(),
        trace: this.#trace,
      },
      chance.fork(),
    )
  }

  get events(): number {
    return this.#steps.count
  }

  /** What a group knew was lost, as it may be. */
  #isExcused(group: string): boolean {
    const index = this.#cluster.cluster.brokers[0].groups.partitionFor(group)
    return this.#replicas.of(OFFSETS_TOPIC, index)?.hasLost ?? false
  }

  run(): void {
    this.#trace(`plan: ${JSON.stringify(this.plan)}`)
    const chance = this.#chance
    this.#cluster.begin()
    this.#steps.until(
      'the brokers are let in',
      () => this.#cluster.machines.every(each => each.running?.isReady),
      60_000,
    )
    const endOf = (topic: string, partition: number) => this.#replicas.of(topic, partition)?.endOffset ?? 0
    const admin = new AdminActor(this.plan.topics, endOf, this.#clients, chance.fork())
    let isPrepared = false
    admin.prepare(this.plan.offsetsTopic, () => {
      isPrepared = true
    })
    this.#steps.until('the topics are made', () => isPrepared, 60_000)
    admin.stop()
    this.#admin = admin
    this.#faults.begin()
    const producers = this.plan.producers.map(
      each => new ProducerActor(each, this.plan.topics, () => [], this.#clients, chance.fork()),
    )
    this.#members.begin()
    this.#steps.work(this.plan.workMs)
    this.#trace('healing')
    for (const actor of producers) actor.stop()
    this.#steps.act(() => this.#faults.heal())
    this.#untilNothing('all faults are over and everybody is done', () => this.#unfinished(producers))
    this.#untilNothing(
      'the replicas are the same',
      () => unsettled(this.#cluster.cluster) ?? (this.#replicas.different() || this.#starts.late()),
    )
    for (const checker of this.#checkers) checker.healed?.()
    this.#members.close()
    this.#steps.until('members leave', () => this.#members.areClosed, HEALING_MS)
    for (const { process } of [...producers, admin]) process.close()
    for (const process of this.#members.processes()) process.close()
    this.#steps.work(SETTLING_MS)
    this.#demandNothingLeft()
    for (const checker of this.#checkers) checker.ended?.()
  }

  /** What is not done yet, in words; empty when nothing is. */
  #unfinished(producers: readonly ProducerActor[]): string {
    const late: string[] = []
    for (const { id, running } of this.#cluster.machines) if (!running?.isReady) late.push(`broker ${id} is not ready`)
    for (const { isDone, process } of producers) if (!isDone) late.push(`${process.env.name} waits for answers`)
    if (this.#admin?.isDone === false) late.push('records are being deleted')
    late.push(...this.#members.unfinished())
    if (late.length === 0) late.push(...this.#unread())
    return late.join(', ')
  }

  /** Partitions that a group with members has not read and committed to the end. */
  #unread(): string[] {
    const late: string[] = []
    for (const { id, topics } of new Set(this.#members.present.map(({ group }) => group))) {
      for (const log of this.#replicas.logs.filter(each => topics.includes(each.topic))) {
        const committed = this.#cluster.cluster.brokers.map(({ groups }) =>
          groups.machine(groups.partitionFor(id))?.offsets.get(id, log.topic, log.partition),
        )
        if (log.endOffset > 0 && !committed.some(each => each?.offset === log.endOffset))
          late.push(`${id} has ${log.name} at ${committed.map(each => each?.offset)}, of ${log.endOffset}`)
      }
    }
    return late
  }

  #demandNothingLeft(): void {
    for (const { id } of this.#cluster.machines) {
      const broker = this.#cluster.cluster.broker(id)
      const left = {
        connections: broker.connectionCount,
        groups: broker.groups.waiting,
        received: broker.traffic.received,
        unsent: broker.traffic.unsent,
        // Each of the two followers waits for more, and nobody else.
        parked: Math.max(0, broker.purgatory.size - 2),
      }
      for (const [what, count] of Object.entries(left)) {
        if (count !== 0) throw new Violation('left over', `broker ${id}: ${what} ${count}`)
      }
    }
    if (this.#network.streams > 0) throw new Violation('left over', `${this.#network.streams} streams`)
  }

  #untilNothing(what: string, late: () => string): void {
    this.#steps.until(what, () => late() === '', HEALING_MS, late)
  }
}
