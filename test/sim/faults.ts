/** Lets happen what the plan has in store: each fault at its time, with an end, and nothing any more once all is to heal. */

import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import type { BrokerProcess } from './broker-process.ts'
import type { Chance } from './chance.ts'
import { type CrashKind, type History, Violation } from './history.ts'
import type { SimulatedNetwork } from './network.ts'
import type { Plan, PlannedFaults } from './plan.ts'
import { type DiskFaults, GOOD_DAY } from './simulated-disk.ts'

export interface FaultTargets {
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly history: History
  readonly processes: readonly BrokerProcess[]
  /** Members of groups come and go. */
  readonly changeMembers: () => void
  /** A bit was turned over in this file. */
  readonly damaged: (path: string) => void
  readonly trace: (text: string) => void
}

export class FaultSchedule {
  readonly #targets: FaultTargets
  readonly #chance: Chance
  #over = false
  /** Brokers whose disks failed: logs may be offline until the next start. */
  readonly #needsRestart = new Set<BrokerProcess>()

  readonly #plan: Plan

  constructor(plan: Plan, targets: FaultTargets, chance: Chance) {
    this.#plan = plan
    this.#targets = targets
    this.#chance = chance
  }

  /** Sets all of them out over the time of the work. */
  begin(): void {
    const { faults, workMs } = this.#plan
    const { world } = this.#targets
    const chance = this.#chance
    for (const [fault, count] of Object.entries(faults) as [keyof PlannedFaults, number][]) {
      for (let index = 0; index < count; index++) {
        world.timer(chance.below(workMs), () => {
          if (!this.#over) this.#happen(fault)
        })
      }
    }
  }

  #happen(fault: keyof PlannedFaults): void {
    const { network, processes, changeMembers, trace } = this.#targets
    const chance = this.#chance
    const process = chance.pick(processes)
    if (fault !== 'resets') trace(`fault: ${fault}`)
    switch (fault) {
      case 'resets':
        return network.resetOne()
      case 'cutOffs':
        network.cutOff(process.address)
        return this.#later(chance.between(50, 3000), () => network.restore(process.address))
      case 'memberChanges':
        return changeMembers()
      case 'kills':
        return this.#strike(process, 'kill')
      case 'powerCuts':
        return this.#strike(process, 'power')
      case 'stops':
        return this.#stop(process)
      case 'diskErrors':
        this.#needsRestart.add(process)
        return this.#spoil(process, {
          writeFails: chance.pick([0, 0.02, 0.3]),
          syncFails: chance.pick([0, 0.1, 1]),
          readFails: chance.pick([0, 0.02, 0.3]),
        })
      case 'fullDisks':
        return this.#spoil(process, { full: true })
      case 'shortWrites':
        return this.#spoil(process, { writeIsShort: 0.3 })
      case 'flips':
        return this.#flip(process)
    }
  }

  /** Between two events, or in the middle of one, between two changes of the disk. */
  #strike(process: BrokerProcess, kind: CrashKind): void {
    const { env } = process
    if (env === undefined) return
    if (this.#chance.maybe(0.5)) return this.crash(process, kind)
    process.disk.strikeAfter(this.#chance.below(30), () => {
      env.doom(() => {
        this.#targets.trace('struck in the middle of a turn')
        this.crash(process, kind)
      })
    })
  }

  /** Ends a process; it is started again after a while. */
  crash(process: BrokerProcess, kind: CrashKind | 'stop'): void {
    const { history } = this.#targets
    const event = { broker: process.id, kind: process.disk.hasGivenUp ? 'power' : kind } as const
    history.add({ type: 'crashing', ...event })
    process.crash(kind === 'power' ? 'power' : 'kill')
    history.add({ type: 'crashed', ...event })
    if (!process.disk.isBad) this.#needsRestart.delete(process)
    this.#later(this.#chance.between(5, 1500), () => this.#start(process))
  }

  #start(process: BrokerProcess): void {
    if (process.isStopped) process.start(() => this.#targets.history.add({ type: 'started', broker: process.id }))
  }

  /** A process cannot go on, as with a disk that fails, and has ended itself. On a good disk it has to go on. */
  gaveUp(process: BrokerProcess, reason: string): void {
    this.#targets.trace(`broker ${process.id} gives up: ${reason}`)
    if (!process.disk.isBad && !this.#needsRestart.has(process))
      throw new Violation('faults', `broker ${process.id}: ${reason}`)
    this.crash(process, 'kill')
  }

  #stop(process: BrokerProcess): void {
    if (process.running?.isReady) process.stop(() => this.crash(process, 'stop'))
  }

  #spoil({ disk }: BrokerProcess, faults: Partial<DiskFaults>): void {
    Object.assign(disk.faults, faults)
    this.#later(this.#chance.between(20, 1000), () => Object.assign(disk.faults, GOOD_DAY))
  }

  #flip(process: BrokerProcess): void {
    const files = [...process.disk.files()].filter(
      ({ path, file }) => path.endsWith('.log') && file.size > 0 && !path.startsWith('__'),
    )
    if (files.length === 0) return
    const { path, file } = this.#chance.pick(files)
    file.flip(this.#chance.below(file.size), this.#chance.below(8))
    this.#targets.damaged(path)
  }

  /** Runs at its time, or when all heals, if that is earlier. */
  #later(ms: number, run: () => void): void {
    const pending = { run }
    this.#pending.add(pending)
    this.#targets.world.timer(ms, () => {
      if (this.#pending.delete(pending)) run()
    })
  }

  readonly #pending = new Set<{ run: () => void }>()

  /** Ends all faults; brokers run again. */
  heal(): void {
    this.#over = true
    for (const process of this.#targets.processes) {
      process.disk.strikeAfter(Number.POSITIVE_INFINITY, () => {})
      Object.assign(process.disk.faults, GOOD_DAY)
      // Whoever has met errors of the disk is started anew, as its operator would.
      if (this.#needsRestart.has(process) && process.env !== undefined) this.crash(process, 'kill')
    }
    for (const pending of [...this.#pending]) if (this.#pending.delete(pending)) pending.run()
    for (const pending of [...this.#pending]) if (this.#pending.delete(pending)) pending.run()
  }
}
