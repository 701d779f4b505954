/**
 * One broker as a process on a machine: started on its disk, killed, left without power, stopped in order, and started again.
 * The code is the product's own, from bytes to files.
 */

import type { Broker } from '../../src/broker/broker.ts'
import { openDataDirectory } from '../../src/broker/data-directory.ts'
import { Cluster } from '../../src/cluster/cluster.ts'
import { DiskCluster } from '../../src/cluster/disk-cluster.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import type { FileSystem } from '../../src/storage/file-system.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { StorageError } from '../../src/storage/storage.ts'
import type { LogFields, LogLevel } from '../../src/util/env.ts'
import type { Later } from '../../src/util/later.ts'
import type { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform } from '../broker/harness.ts'
import type { Chance } from './chance.ts'
import { type CrashKind, Violation } from './history.ts'
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
  readonly gaveUp: (process: BrokerProcess, reason: string) => void
  /** Stands between the broker and its disk: for faults that are planted. */
  readonly wrapFileSystem?: (fileSystem: SimulatedFileSystem, env: ProcessEnv) => FileSystem
}

const CLUSTER_ID = 'simulated-cluster-0000'
export const BROKER_PORT = 9092
const TWIN_READY_MS = 500

/** What a process has made of its disk. */
export interface RunningBroker {
  readonly env: ProcessEnv
  readonly broker: Broker
  /** Settles when it has registered and serves. */
  start(host: string): Later<unknown>
  shutdown(): Later<unknown>
  /** True from then on until it shuts down: what it knows of the cluster stands still then. */
  isReady: boolean
}

/** Somebody who waits for a process to come up. */
interface Starter {
  opened(running: RunningBroker): void
  ready(): void
  failed(reason: string): void
}

export class BrokerProcess {
  readonly id: number
  readonly host: string
  readonly disk: SimulatedDisk
  readonly #options: BrokerProcessOptions
  #env: ProcessEnv | undefined
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

  /** Undefined while no process runs or it reads its disk, and from the moment on in which it is struck. */
  get running(): RunningBroker | undefined {
    return this.#running?.env.doomed ? undefined : this.#running
  }

  /** The process, whether it serves already or not. */
  get env(): ProcessEnv | undefined {
    return this.#env?.doomed ? undefined : this.#env
  }

  /** True when no process is there at all. */
  get isStopped(): boolean {
    return this.#env === undefined
  }

  /** Starts a process on what is on the disk. */
  start(ready: () => void): void {
    const { network, gaveUp } = this.#options
    const env = this.#newEnv(`broker-${this.id}.${++this.#starts}`)
    this.#env = env
    this.#open(this.disk, env, {
      opened: running => {
        const { broker } = running
        this.#running = running
        network.listen(this.address, { env, connect: (sink, peer) => broker.connect(sink, peer) })
      },
      ready,
      failed: reason => env.doom(() => gaveUp(this, reason)),
    })
  }

  /** Another process on a copy of the disk, which nobody can reach: what would be there after a restart. */
  twin(ready: (twin: RunningBroker) => void): void {
    let opened: RunningBroker | undefined
    this.#open(this.disk.fork(), this.#newEnv(`twin of broker-${this.id}`), {
      opened: running => {
        opened = running
      },
      // What it leads it hears a little later.
      ready: () => opened?.env.timer(TWIN_READY_MS, () => ready(opened as RunningBroker)),
      failed: reason => {
        throw new Error(`what is on the disk of broker ${this.id} cannot be opened: ${reason}`)
      },
    })
  }

  #newEnv(name: string): ProcessEnv {
    const { world, chance, log } = this.#options
    return new ProcessEnv({ name, world, chance: chance.fork(), onLog: log })
  }

  #open(disk: SimulatedDisk, env: ProcessEnv, starter: Starter): void {
    const opened = (running: RunningBroker) => {
      starter.opened(running)
      running.start(this.host).whenSettled(() => {
        running.isReady = true
        starter.ready()
      })
    }
    env.enter(() => {
      if (this.#options.plan.storage === 'memory') opened(this.#inMemory(env))
      else this.#onDisk(disk, env, opened, starter.failed)
    })
  }

  #clusterOptions(env: ProcessEnv) {
    const onFatal = (error: unknown) => {
      throw error
    }
    return { env, configs: this.#options.plan.configs, onFatal }
  }

  #inMemory(env: ProcessEnv): RunningBroker {
    const storage = new MemoryStorage({ turns: env.turns })
    const brokers = [{ id: this.id, storage, platform }]
    const cluster = new Cluster({ ...this.#clusterOptions(env), clusterId: CLUSTER_ID, brokers })
    return {
      env,
      broker: cluster.broker(this.id),
      isReady: false,
      start: host => cluster.broker(this.id).register(host, BROKER_PORT),
      shutdown: () => cluster.shutdown(),
    }
  }

  /** As a process does it that is started on a directory: lock it, see what it is, load it. */
  #onDisk(
    disk: SimulatedDisk,
    env: ProcessEnv,
    opened: (running: RunningBroker) => void,
    failed: (reason: string) => void,
  ): void {
    const { plan, wrapFileSystem = files => files } = this.#options
    const { turns } = env
    const fileSystem = wrapFileSystem(new SimulatedFileSystem(disk, env), env)
    const storage = new DiskStorage({ fileSystem, turns, maxOpenFiles: plan.maxOpenFiles })
    const random = () => env.random()
    // What a disk that fails makes impossible ends the process; on a good one it is a mistake.
    const attempt = (run: () => void) => {
      try {
        run()
      } catch (error) {
        if (disk.isBad) return failed(String(error))
        throw error instanceof StorageError ? new Violation('opening', error.message) : error
      }
    }
    storage.lock().whenSettled(refused => {
      if (refused) return failed(refused.message)
      attempt(() =>
        openDataDirectory({
          storage,
          turns,
          nodeId: this.id,
          clusterId: CLUSTER_ID,
          random,
        }).whenSettled(directory => {
          if ('kind' in directory) return failed(directory.message)
          attempt(() => {
            const onMetadataFailure = ({ message }: { message: string }) => failed(message)
            const cluster = new DiskCluster({
              ...this.#clusterOptions(env),
              platform,
              storage,
              directory,
              onMetadataFailure,
            })
            opened({
              env,
              broker: cluster.broker,
              isReady: false,
              start: host => cluster.start({ host, port: BROKER_PORT, topics: [] }),
              shutdown: () => cluster.shutdown(),
            })
          })
        }),
      )
    })
  }

  /** Shuts down: what waits is answered, and all is written. Calls `done` when nothing is left to do but to end. */
  stop(done: () => void): void {
    const running = this.#running
    if (running === undefined) return
    running.isReady = false
    running.env.enter(() => {
      running.shutdown().whenSettled(() => running.env.doom(done))
    })
  }

  /** Ends the process at once, by a signal or for want of power. */
  crash(kind: CrashKind): void {
    const env = this.#env
    if (env === undefined) return
    env.kill()
    this.#env = undefined
    this.#running = undefined
    this.#options.network.processDied(env, kind)
    if (kind === 'kill') this.disk.processDied()
    else this.disk.losePower()
  }
}
