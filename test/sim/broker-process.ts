/**
 * One broker as a process on a machine: started on its disk, killed, left without power, stopped in order, and started again.
 * The code is the product's own, from bytes to files.
 */

import type { Broker } from '../../src/broker/broker.ts'
import { Cluster } from '../../src/cluster/index.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import type { FileSystem } from '../../src/storage/file-system.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import type { Storage } from '../../src/storage/storage.ts'
import type { LogFields, LogLevel } from '../../src/util/env.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform } from '../broker/harness.ts'
import type { Chance } from './chance.ts'
import type { CrashKind } from './history.ts'
import type { SimulatedNetwork } from './network.ts'
import type { Plan } from './plan.ts'
import { ProcessEnv } from './process-env.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { SimulatedFileSystem } from './simulated-file-system.ts'

export interface BrokerProcessOptions {
  readonly id: number
  readonly plan: Plan
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly chance: Chance
  readonly log: (level: LogLevel, message: string, fields: LogFields) => void
  /** The process can do no more and ends itself. */
  readonly gaveUp: (process: BrokerProcess) => void
  /** Stands between the broker and its disk: for faults that are planted. */
  readonly wrapFileSystem?: (fileSystem: SimulatedFileSystem, env: ProcessEnv) => FileSystem
}

const CLUSTER_ID = 'simulated-cluster-0000'
export const BROKER_PORT = 9092

/** What runs while the process does. */
export interface RunningBroker {
  readonly env: ProcessEnv
  readonly cluster: Cluster
  readonly broker: Broker
  readonly storage: Storage
  /** It has registered, and knows what it has to know. */
  isReady: boolean
}

export class BrokerProcess {
  readonly id: number
  readonly host: string
  readonly disk: SimulatedDisk
  readonly #options: BrokerProcessOptions
  #running: RunningBroker | undefined
  #starts = 0

  constructor(options: BrokerProcessOptions) {
    this.id = options.id
    this.host = `broker-${options.id}`
    this.#options = options
    this.disk = new SimulatedDisk(options.chance.fork())
  }

  get address(): string {
    return `${this.host}:${BROKER_PORT}`
  }

  /** Undefined while no process runs, and from the moment on in which it is struck. */
  get running(): RunningBroker | undefined {
    return this.#running?.env.doomed ? undefined : this.#running
  }

  /** True when no process is there at all. */
  get isStopped(): boolean {
    return this.#running === undefined
  }

  /** Starts a process on what is on the disk. */
  start(ready: () => void): void {
    const { network } = this.#options
    const running = this.#boot(this.disk, `broker-${this.id}.${++this.#starts}`, ready)
    this.#running = running
    const { env, broker } = running
    network.listen(this.address, { env, connect: (sink, peer) => broker.connect(sink, peer) })
  }

  /** Another process on a copy of the disk, which nobody can reach: what would be there after a restart. */
  twin(): RunningBroker {
    return this.#boot(this.disk.fork(), `twin of broker-${this.id}`, () => {})
  }

  #boot(disk: SimulatedDisk, name: string, ready: () => void): RunningBroker {
    const { plan, world, chance, log } = this.#options
    const env = new ProcessEnv({ name, world, chance: chance.fork(), onLog: log })
    const storage = this.#storage(disk, env)
    let cluster: Cluster | undefined
    env.enter(() => {
      cluster = new Cluster({
        env,
        clusterId: CLUSTER_ID,
        brokers: [{ id: this.id, storage, platform }],
        configs: plan.configs,
        onFatal: error => {
          throw error
        },
        onMetadataFailure: () => env.doom(() => this.#options.gaveUp(this)),
      })
    })
    if (cluster === undefined) throw new Error('the cluster did not start')
    const running: RunningBroker = { env, cluster, storage, broker: cluster.broker(this.id), isReady: false }
    env.enter(() => {
      running.broker.register(this.host, BROKER_PORT).whenSettled(() => {
        running.isReady = true
        ready()
      })
    })
    return running
  }

  #storage(disk: SimulatedDisk, env: ProcessEnv): Storage {
    const { plan, wrapFileSystem = files => files } = this.#options
    if (plan.storage === 'memory') return new MemoryStorage({ turns: env.turns })
    const fileSystem = wrapFileSystem(new SimulatedFileSystem(disk, env), env)
    return new DiskStorage({ fileSystem, turns: env.turns, maxOpenFiles: plan.maxOpenFiles })
  }

  /** Ends the process in order: what waits is answered, and all is written. */
  stop(stopped: () => void): void {
    this.crash('kill')
    stopped()
  }

  /** Ends the process at once, by a signal or for want of power. */
  crash(kind: CrashKind): void {
    const env = this.#running?.env
    if (env === undefined) return
    env.kill()
    this.#running = undefined
    this.#options.network.processDied(env, kind)
    if (kind === 'kill') this.disk.processDied()
    else this.disk.losePower()
  }
}
