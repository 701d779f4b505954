/** The machine of one broker, and the process that runs on it: what is there of each in a simulated cluster, and nothing of what befalls them. */

import type { Gate } from '../../../src/cluster/gate.ts'
import type { NodeEnv } from '../../../src/cluster/node-env.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import type { VirtualEnv } from '../../../src/util/virtual-env.ts'
import type { Chance } from '../chance.ts'
import { ProcessEnv } from '../process-env.ts'
import type { SimulatedDisk } from '../simulated-disk.ts'

/** The world of all nodes: one queue of turns, as in one process. */
export class ClusterEnv extends ProcessEnv {
  #afterwards: (() => void)[] = []

  override enter(run: () => void): void {
    super.enter(run)
    for (const each of this.#afterwards.splice(0)) each()
  }

  /** Runs when the present event is over with all that follows from it. */
  afterwards(run: () => void): void {
    this.#afterwards.push(run)
  }
}

/** One process of a broker, as clients and disks meet it. */
export class Life extends ProcessEnv {
  readonly #shared: ProcessEnv
  struck = false

  constructor(name: string, world: VirtualEnv, chance: Chance, shared: ProcessEnv) {
    super({ name, world, chance })
    this.#shared = shared
  }

  override get doomed(): boolean {
    return this.struck || !this.alive
  }

  override enter(run: () => void): void {
    if (this.alive) this.#shared.enter(run)
  }
}

/** What a broker has while it runs. */
export interface Running {
  readonly life: Life
  /** The Env of its disk. */
  readonly diskEnv: NodeEnv
  storage: Storage | undefined
  gate: Gate | undefined
  isReady: boolean
  isStopping: boolean
  /** It ends in good order with all others. */
  endsWithAll: boolean
}

/** What a process finds when it starts. */
export interface FoundStorage {
  readonly storage: Storage
  readonly previousBrokerEpoch: number
}

/** The machine of one broker. */
export interface Machine {
  readonly id: number
  readonly disk: SimulatedDisk
  /** The Storage of memory mode, which outlives processes as a disk does. */
  memory: Storage | undefined
  running: Running | undefined
  starts: number
}
