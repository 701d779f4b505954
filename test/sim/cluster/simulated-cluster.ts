/**
 * Three brokers and a controller in simulated machines: each broker on its own disk, killed, left without power, stopped in order,
 * paused and started again. The code is the product's own, from bytes to files; the links are those of `Network`. The
 * controller neither dies nor forgets.
 */

import { openDataDirectory } from '../../../src/broker/data-directory.ts'
import { Cluster } from '../../../src/cluster/cluster.ts'
import { Gate } from '../../../src/cluster/gate.ts'
import { Losses } from '../../../src/cluster/losses.ts'
import { CONTROLLER } from '../../../src/cluster/network.ts'
import { NodeEnv } from '../../../src/cluster/node-env.ts'
import { Timeline } from '../../../src/cluster/timeline.ts'
import { DiskStorage } from '../../../src/storage/disk-storage.ts'
import { MemoryStorage } from '../../../src/storage/memory-storage.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import type { LogFields, LogLevel } from '../../../src/util/env.ts'
import type { VirtualEnv } from '../../../src/util/virtual-env.ts'
import { platform } from '../../broker/harness.ts'
import { BROKER_PORT } from '../broker-process.ts'
import type { Chance } from '../chance.ts'
import type { CrashKind } from '../history.ts'
import type { SimulatedNetwork } from '../network.ts'
import { ProcessEnv } from '../process-env.ts'
import { SimulatedDisk } from '../simulated-disk.ts'
import { SimulatedFileSystem } from '../simulated-file-system.ts'
import type { ClusterPlan } from './cluster-plan.ts'

const CLUSTER_ID = 'simulated-cluster-0000'

/** The world of all nodes: one queue of turns, as in one process. */
class ClusterEnv extends ProcessEnv {
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
class Life extends ProcessEnv {
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
interface Running {
  readonly life: Life
  /** The Env of its disk. */
  readonly diskEnv: NodeEnv
  storage: Storage | undefined
  gate: Gate | undefined
  isReady: boolean
  isStopping: boolean
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

export interface SimulatedClusterOptions {
  readonly plan: ClusterPlan
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly chance: Chance
  readonly log: (level: LogLevel, message: string, fields: LogFields) => void
  /** A process cannot begin on its disk. */
  readonly gaveUp: (id: number, reason: string) => void
  /** A process was struck in the middle of an event, which goes on without anybody seeing it. */
  readonly struck: (id: number) => void
  /** A process is about to end, and has ended. */
  readonly ending: (id: number, kind: CrashKind | 'stop') => void
  readonly ended: (id: number, kind: CrashKind | 'stop') => void
}

export class SimulatedCluster {
  readonly machines: readonly Machine[]
  readonly timeline: Timeline
  readonly #options: SimulatedClusterOptions
  readonly #env: ClusterEnv
  #cluster: Cluster | undefined
  #losses: Losses | undefined

  constructor(options: SimulatedClusterOptions) {
    this.#options = options
    const { world, chance, plan, log } = options
    this.#env = new ClusterEnv({ name: 'cluster', world, chance: chance.fork(), onLog: log })
    this.timeline = new Timeline(() => world.now())
    this.machines = plan.brokerIds.map(id => ({
      id,
      disk: new SimulatedDisk(chance.fork()),
      memory: undefined,
      running: undefined,
      starts: 0,
    }))
  }

  /** There is one once all disks were opened for the first time. */
  get cluster(): Cluster {
    if (this.#cluster === undefined) throw new Error('the cluster is not made yet')
    return this.#cluster
  }

  get isMade(): boolean {
    return this.#cluster !== undefined
  }

  machine(id: number): Machine {
    return this.machines.find(each => each.id === id) as Machine
  }

  /** Something from outside happens to the cluster. */
  do(run: () => void): void {
    this.#env.enter(run)
  }

  address(id: number): string {
    return `broker-${id}:${BROKER_PORT}`
  }

  /** True for a process that the cluster has let in, as it is now, and that nothing has struck. */
  isCurrent(id: number): boolean {
    const { running } = this.machine(id)
    if (running === undefined || running.life.doomed || this.#cluster === undefined) return false
    const { broker, isUp } = this.#cluster.node(id)
    const registered = this.#cluster.image.brokers.get(id)
    return isUp && broker.isServing && registered?.brokerEpoch === broker.brokerEpoch
  }

  /** Starts everything for the first time. */
  begin(): void {
    const opened = new Map<number, Storage>()
    this.do(() => {
      for (const machine of this.machines) {
        const running = this.#newLife(machine)
        this.#openStorage(machine, running, storage => {
          opened.set(machine.id, storage)
          if (opened.size === this.machines.length) this.#make(opened)
        })
      }
    })
  }

  #make(storages: ReadonlyMap<number, Storage>): void {
    const { plan } = this.#options
    const env = this.#env
    const cluster = new Cluster({
      env,
      brokers: this.machines.map(({ id }) => ({ id, storage: storages.get(id) as Storage, platform })),
      controllerStorage: new MemoryStorage({ turns: env.turns }),
      mayFail: true,
      configs: plan.configs,
      clusterId: CLUSTER_ID,
      onRecord: (record, image) => this.timeline.record(record, image),
      onFatal: error => {
        throw error
      },
    })
    this.#cluster = cluster
    this.#losses = new Losses(cluster, this.timeline)
    const ids = [CONTROLLER, ...plan.brokerIds]
    for (const from of ids) for (const to of ids) if (from !== to) this.healWay(from, to)
    for (const machine of this.machines) {
      this.#listen(machine)
      cluster
        .broker(machine.id)
        .register(`broker-${machine.id}`, BROKER_PORT)
        .whenSettled(() => {
          if (machine.running !== undefined) machine.running.isReady = true
        })
    }
  }

  healWay(from: number, to: number): void {
    this.cluster.network.heal(from, to)
    this.cluster.network.slow(from, to, this.#options.plan.linkDelayMs)
  }

  #newLife(machine: Machine): Running {
    const { world, chance } = this.#options
    const name = `broker-${machine.id}.${++machine.starts}`
    const life = new Life(name, world, chance.fork(), this.#env)
    const running = {
      life,
      diskEnv: new NodeEnv(this.#env, name),
      storage: undefined,
      gate: undefined,
      isReady: false,
      isStopping: false,
    }
    machine.running = running
    return running
  }

  /** As a process does it that is started on a directory. */
  #openStorage(machine: Machine, running: Running, then: (storage: Storage, brokerEpoch: number) => void): void {
    const { plan } = this.#options
    const { turns } = this.#env
    const opened = (storage: Storage, brokerEpoch: number) => {
      if (machine.running !== running || running.life.doomed) return
      running.storage = storage
      then(storage, brokerEpoch)
    }
    if (plan.storage === 'memory') {
      machine.memory ??= new MemoryStorage({ turns })
      return opened(machine.memory, -1)
    }
    const fileSystem = new SimulatedFileSystem(machine.disk, running.diskEnv)
    const storage = new DiskStorage({ fileSystem, turns, maxOpenFiles: plan.maxOpenFiles })
    const failed = (reason: string) => {
      if (machine.running === running && !running.life.doomed) {
        this.#env.afterwards(() => this.#options.gaveUp(machine.id, reason))
      }
    }
    // What a disk that fails makes impossible ends the process; on a good one it is a mistake.
    const attempt = (run: () => void) => {
      try {
        run()
      } catch (error) {
        if (!machine.disk.isBad) throw error
        failed(String(error))
      }
    }
    storage.lock().whenSettled(refused => {
      if (refused) throw new Error(`broker ${machine.id} cannot lock its disk: ${refused.message}`)
      const random = () => running.life.random()
      attempt(() =>
        openDataDirectory({ storage, turns, nodeId: machine.id, clusterId: CLUSTER_ID, random }).whenSettled(found => {
          if ('kind' in found) return failed(found.message)
          attempt(() => opened(storage, found.brokerEpoch))
        }),
      )
    })
  }

  #listen({ id, running }: Machine): void {
    if (running === undefined) return
    const gate = new Gate(this.cluster.node(id))
    running.gate = gate
    this.#options.network.listen(this.address(id), {
      env: running.life,
      connect: (sink, peer) => gate.connect(sink, peer),
    })
  }

  /** Starts a process on what the one before left. */
  start(id: number, ready: () => void): void {
    const machine = this.machine(id)
    if (machine.running !== undefined) return
    this.do(() => {
      const running = this.#newLife(machine)
      this.#openStorage(machine, running, (storage, previousBrokerEpoch) => {
        const started = this.cluster.node(id).start({ storage, previousBrokerEpoch })
        this.#listen(machine)
        started.whenSettled(() => {
          running.isReady = true
          ready()
        })
      })
    })
  }

  /** Ends a process at once, by a signal or for want of power. */
  crash(id: number, kind: CrashKind | 'stop'): void {
    const machine = this.machine(id)
    const { running } = machine
    if (running === undefined) return
    // What a sync that failed covered may be lost as with the power.
    const lost = machine.disk.hasGivenUp ? 'power' : kind
    this.#options.ending(id, lost)
    this.do(() => {
      running.life.struck = true
      if (this.#cluster !== undefined && running.storage !== undefined) {
        this.#losses?.ending(id)
        const powerLoss = kind === 'power' && machine.memory !== undefined
        this.#cluster.node(id).kill({ powerLoss })
      }
      running.diskEnv.kill()
    })
    running.life.kill()
    machine.running = undefined
    this.#options.network.processDied(running.life, kind === 'power' ? 'power' : 'kill')
    if (kind === 'power') machine.disk.losePower()
    else machine.disk.processDied()
    this.#options.ended(id, lost)
  }

  /** Strikes a process in the middle of what it does, between two changes of its disk; then calls `crash`. */
  strike(id: number, changes: number, crash: () => void): void {
    const machine = this.machine(id)
    machine.disk.strikeAfter(changes, () => {
      const { running } = machine
      if (running === undefined) return
      // Nobody hears what it still says.
      running.life.struck = true
      this.#options.struck(id)
      if (this.#cluster?.node(id).isUp) this.#cluster.network.stop(id)
      this.#env.afterwards(crash)
    })
  }

  /** Lets a process end in good order: it calls `done` when nothing is left but to end. */
  stop(id: number, done: () => void): void {
    const { running } = this.machine(id)
    if (running === undefined || !running.isReady || running.isStopping) return
    running.isStopping = true
    this.do(() => {
      running.gate?.resume()
      running.diskEnv.resume()
      const node = this.cluster.node(id)
      node.stop().whenSettled(() => {
        if (running.life.doomed || node.state !== 'stopped') return
        const { replicas, brokerEpoch } = node.broker
        replicas.directory.close(brokerEpoch).whenSettled(() => {
          running.storage?.close().whenSettled(() => {
            if (!running.life.doomed) this.#env.afterwards(done)
          })
        })
      })
    })
  }

  pause(id: number): void {
    const { running } = this.machine(id)
    if (running === undefined || !running.isReady || running.isStopping) return
    this.do(() => {
      this.cluster.node(id).pause()
      running.gate?.pause()
      running.diskEnv.pause()
    })
  }

  resume(id: number): void {
    const { running } = this.machine(id)
    if (running === undefined || this.cluster.node(id).state !== 'paused') return
    this.do(() => {
      this.cluster.node(id).resume()
      running.gate?.resume()
      running.diskEnv.resume()
    })
  }

  /** Moves a broker's clock, on or back. */
  moveClock(id: number, ms: number): void {
    const { env } = this.cluster.broker(id)
    if (env instanceof NodeEnv) env.clockOffsetMs += ms
  }

  /** All clocks are right again. */
  setClocks(): void {
    for (const { id } of this.machines) {
      const { env } = this.cluster.broker(id)
      if (env instanceof NodeEnv) env.clockOffsetMs = 0
    }
  }
}
