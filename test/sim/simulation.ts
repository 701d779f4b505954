/**
 * A simulation from one seed: brokers on disks, clients on a network, work, faults, and checkers that look after each event. In the
 * end all heals, and everybody must finish what they began.
 */

import { Consumer } from '../../src/client/index.ts'
import type { Log } from '../../src/log/log.ts'
import type { Env } from '../../src/util/env.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { BrokerProcess, type BrokerProcessOptions, type RunningBroker } from './broker-process.ts'
import { stateOf } from './broker-state.ts'
import { Chance } from './chance.ts'
import { Acknowledged } from './checkers/acknowledged.ts'
import { CommittedOffsets } from './checkers/committed-offsets.ts'
import { LogContents } from './checkers/log-contents.ts'
import { Reads } from './checkers/reads.ts'
import { demandSameState } from './checkers/replay.ts'
import { Topics } from './checkers/topics.ts'
import { FaultSchedule } from './faults.ts'
import { type Checker, History, Violation } from './history.ts'
import { SimulatedNetwork } from './network.ts'
import type { ObservedLog } from './observed-log.ts'
import { watchOpenedLogs } from './opened-logs.ts'
import { drawPlan, type Plan, type WantedPlan } from './plan.ts'
import { Steps } from './steps.ts'
import { AdminActor } from './workload/admin-actor.ts'
import { ClientProcess, type ClientWorld, idOf } from './workload/client-process.ts'
import { Members } from './workload/members.ts'
import { ProducerActor } from './workload/producer-actor.ts'

/** How long everything may take to come right once all faults have ended: a member may fetch thousands of records one at a time. */
const HEALING_MS = 300_000
const AUDIT_MS = 60_000
/** After this nothing is left of clients that are gone, nor of files that were set aside. */
const SETTLING_MS = 60_000
const LEFT_OVER_MS = 30_000
/** Logs that are opened late are flushed by then. */
const OPENING_MS = 200

export interface SimulationOptions {
  readonly seed: number
  /** Settles some of what the seed would decide. */
  readonly plan?: WantedPlan
  readonly wrapFileSystem?: BrokerProcessOptions['wrapFileSystem']
  /** Is given what happens, line by line. */
  readonly trace?: (line: string) => void
}

export interface Outcome {
  readonly seed: number
  readonly plan: Plan
  /** What was broken: a {@link Violation}, or whatever the broker threw. */
  readonly error: Error | undefined
  readonly events: number
}

export function simulate(options: SimulationOptions): Outcome {
  const simulation = new Simulation(options)
  let error: Error | undefined
  const endWatching = watchOpenedLogs((log, env) => simulation.opened(log, env))
  try {
    simulation.run()
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(String(thrown))
  } finally {
    endWatching()
  }
  return { seed: options.seed, plan: simulation.plan, error, events: simulation.events }
}

class Simulation {
  readonly plan: Plan
  readonly #chance: Chance
  readonly #world: VirtualEnv
  readonly #network: SimulatedNetwork
  readonly #processes: readonly BrokerProcess[]
  readonly #history: History
  readonly #checkers: readonly Checker[]
  readonly #contents: LogContents
  readonly #offsets: CommittedOffsets
  readonly #topics: Topics
  readonly #clients: ClientWorld
  readonly #faults: FaultSchedule
  readonly #trace: (text: string) => void
  readonly #members: Members
  readonly #steps: Steps
  readonly #began: number
  #isDamaged = false

  constructor({ seed, plan, trace, wrapFileSystem }: SimulationOptions) {
    const chance = new Chance(seed)
    this.#chance = chance
    this.plan = drawPlan(chance.fork(), plan)
    this.#world = new VirtualEnv({ seed })
    this.#began = this.#world.now()
    this.#trace = trace === undefined ? () => {} : text => trace(`${this.#world.now() - this.#began} ${text}`)
    this.#network = new SimulatedNetwork(this.#world, chance.fork(), this.plan.network)
    this.#processes = this.plan.brokerIds.map(
      id =>
        new BrokerProcess({
          id,
          plan: this.plan,
          world: this.#world,
          network: this.#network,
          chance: chance.fork(),
          wrapFileSystem,
          gaveUp: (process, reason) => this.#faults.gaveUp(process, reason),
          log: (level, message, fields) => {
            if (trace !== undefined) this.#trace(`broker-${id} ${level}: ${message} ${JSON.stringify(fields)}`)
          },
        }),
    )
    const { flush } = this.plan
    const acknowledged = new Acknowledged(() => this.#contents)
    const reads = new Reads(() => this.#contents)
    this.#contents = new LogContents({
      processes: this.#processes,
      flush,
      keepsDeletions: this.#keepsDeletions,
      compacted: new Set(this.plan.topics.filter(({ isCompacted }) => isCompacted).map(({ name }) => name)),
      appended: (log, batch) => acknowledged.appended(log, batch),
      lost: (log, batches) => {
        acknowledged.lost(log, batches)
        const ids = batches.flatMap(({ records }) => records.map(({ id }) => id))
        reads.lost(log.name, ids)
      },
    })
    this.#offsets = new CommittedOffsets(this.#processes, flush)
    this.#topics = new Topics(this.#processes)
    this.#checkers = [this.#contents, acknowledged, reads, this.#offsets, this.#topics]
    this.#history = new History(this.#checkers, trace && this.#trace)
    const { brokerIds } = this.plan
    this.#clients = { world: this.#world, network: this.#network, history: this.#history, brokerIds }
    this.#steps = new Steps(this.#world, this.#checkers)
    const { groups } = this.plan
    this.#members = new Members({ groups, clients: this.#clients, chance, trace: this.#trace })
    this.#faults = this.#makeFaults()
  }

  get events(): number {
    return this.#steps.count
  }

  opened(log: Log, env: Env): void {
    this.#contents.opened(log, env)
  }

  run(): void {
    this.#trace(`plan: ${JSON.stringify(this.plan)}`)
    const chance = this.#chance
    for (const process of this.#processes) process.start(() => {})
    const admin = new AdminActor(
      this.plan.topics,
      (topic, partition) => this.#endOf(topic, partition),
      this.#clients,
      chance.fork(),
    )
    let isPrepared = false
    admin.prepare(this.plan.offsetsTopic, () => {
      isPrepared = true
    })
    this.#steps.until('the topics are made', () => isPrepared, 60_000)
    this.#faults.begin()
    if (this.plan.administers) admin.begin()
    const producers = this.plan.producers.map(
      each => new ProducerActor(each, this.plan.topics, () => admin.extraTopics, this.#clients, chance.fork()),
    )
    this.#members.begin()
    this.#steps.work(this.plan.workMs)
    this.#trace('healing')
    for (const actor of [...producers, admin]) actor.stop()
    this.#steps.act(() => this.#faults.heal())
    this.#steps.until(
      'all faults are over and everybody is done',
      () => this.#unfinished(producers, admin) === '',
      HEALING_MS,
      () => this.#unfinished(producers, admin),
    )
    this.#contents.openAll()
    this.#steps.work(OPENING_MS)
    for (const checker of this.#checkers) checker.healed?.()
    this.#audit()
    this.#demandReplay()
    this.#members.close()
    this.#steps.until('members leave', () => this.#members.areClosed, HEALING_MS)
    for (const { process } of [...producers, admin]) process.close()
    for (const process of this.#members.processes()) process.close()
    this.#steps.work(SETTLING_MS)
    this.#demandNothingLeft()
    for (const checker of this.#checkers) checker.ended?.()
  }

  #makeFaults(): FaultSchedule {
    return new FaultSchedule(
      this.plan,
      {
        world: this.#world,
        network: this.#network,
        history: this.#history,
        processes: this.#processes,
        changeMembers: () => this.#members.change(),
        damaged: path => this.#damaged(path),
        trace: this.#trace,
      },
      this.#chance.fork(),
    )
  }

  /** A bit of a file was turned over: what was promised of its log is void, but for what readers are given. */
  #damaged(path: string): void {
    this.#isDamaged = true
    this.#trace(`a bit is turned over in ${path}`)
    const [directory] = path.split('/')
    for (const log of this.#contents.logs) if (log.name === directory) log.isDamaged = true
    if (directory.startsWith('__consumer_offsets')) this.#offsets.isDamaged = true
    if (directory.startsWith('__cluster_metadata')) this.#topics.damaged()
  }

  #endOf(topic: string, partition: number): number {
    return this.#contents.of(topic, partition).at(-1)?.endOffset ?? 0
  }

  /** What is not done yet, in words; empty when nothing is. */
  #unfinished(producers: readonly ProducerActor[], admin: AdminActor): string {
    const late: string[] = []
    for (const process of this.#processes) if (!process.running?.isReady) late.push(`broker ${process.id} is not ready`)
    for (const { isDone, process } of producers) if (!isDone) late.push(`${process.env.name} waits for answers`)
    if (!admin.isDone) late.push('the admin waits for answers')
    late.push(...this.#members.unfinished())
    if (late.length === 0) late.push(...this.#unread())
    return late.join(', ')
  }

  /** Partitions that a group with members has not read and committed to the end. */
  #unread(): string[] {
    const late: string[] = []
    for (const { id, topics } of new Set(this.#members.present.map(({ group }) => group))) {
      for (const log of this.#contents.logs.filter(each => !each.isGone && topics.includes(each.topic))) {
        if (log.isDamaged) continue
        const committed = this.#processes
          .map(({ running }) => running?.broker.groups)
          .map(groups => groups?.machine(groups.partitionFor(id))?.offsets.get(id, log.topic, log.partition)?.offset)
        if (!committed.includes(log.highWatermark))
          late.push(`${id} has ${log.name} at ${committed}, of ${log.highWatermark}`)
      }
    }
    return late
  }

  /** Somebody new reads everything from the beginning. */
  #audit(): void {
    const reader = new ClientProcess('audit', this.#clients, this.#chance.fork())
    const logs = this.#contents.logs.filter(log => !log.isGone && !log.isDamaged && !log.topic.startsWith('__'))
    const wanted = new Map<string, { log: ObservedLog; offset: number }>()
    for (const log of logs) {
      for (const { offset, id } of log.demanded()) wanted.set(`${log.name} ${offset} ${id}`, { log, offset })
    }
    const consumer = reader.do(() => {
      const created = new Consumer(reader.client, { autoOffsetReset: 'earliest' })
      created.assign(logs.map(({ topic, partition }) => ({ topic, partition })))
      return created
    })
    const poll = () =>
      consumer.poll(200).whenSettled(result => {
        if (result.ok) {
          for (const record of result.value) {
            const { topic, partition, offset } = record
            const id = idOf(record)
            this.#history.add({ type: 'read', group: 'audit', topic, partition, offset, value: id })
            wanted.delete(`${topic}-${partition} ${offset} ${id}`)
          }
        }
        // Retention goes on meanwhile.
        for (const [key, { log, offset }] of wanted) if (offset < log.startOffset) wanted.delete(key)
        if (wanted.size > 0) reader.env.timer(5, poll)
      })
    reader.do(poll)
    this.#steps.until(
      'all is read again',
      () => wanted.size === 0,
      AUDIT_MS,
      () => [...wanted.keys()].slice(0, 5).join(', '),
    )
    reader.close()
  }

  get #keepsDeletions(): boolean {
    const { fullDisks, diskErrors } = this.plan.faults
    return fullDisks === 0 && diskErrors === 0
  }

  /** Another process on a copy of each disk comes to the same state. */
  #demandReplay(): void {
    if (this.plan.storage === 'memory' || this.#isDamaged) return
    for (const process of this.#processes) {
      const { running } = process
      if (running === undefined) continue
      const live = stateOf(running)
      this.#withTwin(process, twin => demandSameState(live, twin, this.#keepsDeletions))
    }
  }

  /** Looks at what would be there if the process were killed now, and another started. */
  #withTwin(process: BrokerProcess, look: (twin: RunningBroker) => void): void {
    let looked = false
    process.twin(twin => {
      look(twin)
      looked = true
      twin.env.doom(() => twin.env.kill())
    })
    this.#steps.until('a twin starts', () => looked, 10_000)
  }

  #demandNothingLeft(): void {
    for (const process of this.#processes) {
      const { running } = process
      if (running === undefined) continue
      const { broker, env } = running
      const left = {
        connections: broker.connectionCount,
        parked: broker.purgatory.size,
        groups: broker.groups.waiting,
        received: broker.traffic.received,
        unsent: broker.traffic.unsent,
      }
      for (const [what, count] of Object.entries(left)) {
        if (count !== 0) throw new Violation('left over', `broker ${process.id}: ${what} ${count}`)
      }
      if (this.plan.storage === 'memory') continue
      let usual = 0
      this.#withTwin(process, twin => {
        usual = twin.env.timers
      })
      // Files that the cleaner has just set aside have timers for a while.
      const late = () => `broker ${process.id} has ${env.timers} timers, a new one has ${usual}`
      this.#steps.until('no timer is left over', () => env.timers <= usual, LEFT_OVER_MS, late)
    }
    if (this.#network.streams > 0) throw new Violation('left over', `${this.#network.streams} streams`)
  }
}
