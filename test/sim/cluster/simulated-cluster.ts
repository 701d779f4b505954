/**
 * Three brokers and a controller in simulated machines: each broker on its own disk, killed, left without power, stopped in order,
 * paused and started again. The code is the product's own, from bytes to files; the links are those of `Network`. The
 * controller ends with the process in which all of them live, which may happen when it has a disk: see controller-machine.ts.
 */

import { openDataDirectory } from '../../../src/broker/data-directory.ts'
import { Cluster } from '../../../src/cluster/cluster.ts'
import { Gate } from '../../../src/cluster/gate.ts'
import { Losses } from '../../../src/cluster/losses.ts'
import { CONTROLLER } from '../../../src/cluster/network.ts'
import { NodeEnv } from '../../../src/cluster/node-env.ts'
import { type ClusterEvent, Timeline } from '../../../src/cluster/timeline.ts'
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
import { SimulatedDisk } from '../simulated-disk.ts'
import { SimulatedFileSystem } from '../simulated-file-system.ts'
import type { ClusterPlan } from './cluster-plan.ts'
import { ControllerMachine } from './controller-machine.ts'
import { ClusterEnv, type FoundStorage, Life, type Machine, type Running } from './machine.ts'

const CLUSTER_ID = 'simulated-cluster-0000'

export interface SimulatedClusterOptions {
  readonly plan: ClusterPlan
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly chance: Chance
  /** Of the controller's disk. */
  readonly controllerChance: Chance
  readonly log: (level: LogLevel, message: string, fields: LogFields) => void
  /** A process cannot begin on its disk. */
  readonly gaveUp: (id: number, reason: string) => void
  /** A process was struck in the middle of an event, which goes on without anybody seeing it. */
  readonly struck: (id: number) => void
  /** A process is about to end, and has ended. */
  readonly ending: (id: number, kind: CrashKind | 'stop') => void
  readonly ended: (id: number, kind: CrashKind | 'stop') => void
  /** The process of all brokers and the controller is about to end. */
  readonly endingAll: (kind: CrashKind | 'stop') => void
}

export class SimulatedCluster {
  readonly machines: readonly Machine[]
  readonly #options: SimulatedClusterOptions
  readonly #env: ClusterEnv
  readonly #controller: ControllerMachine | undefined
  readonly #listeners: ((event: ClusterEvent) => void)[] = []
  #cluster: Cluster | undefined
  #losses: Losses | undefined
  /** The process of all ends in good order, or is gone: nothing else happens to its brokers. */
  #isDown = false
  /** How many records were decided, by offset. */
  #decidedOffset = 0

  constructor(options: SimulatedClusterOptions) {
    this.#options = options
    const { world, chance, plan, log } = options
    this.#env = new ClusterEnv({ name: 'cluster', world, chance: chance.fork(), onLog: log })
    if (plan.controllerHasDisk) this.#controller = new ControllerMachine(options.controllerChance, this.#env)
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

  /** The process of all brokers and the controller is ending, or gone, or begins again. */
  get isDown(): boolean {
    return this.#isDown
  }

  /** Everything that the controller knows counts: what it has decided is on its disk. */
  get isDecided(): boolean {
    return this.cluster.metadataOffset >= this.#decidedOffset
  }

  /** Those of the brokers and of the controller. */
  get disks(): SimulatedDisk[] {
    return [...this.machines, ...(this.#controller ? [this.#controller] : [])].map(({ disk }) => disk)
  }

  /** Calls `listener` with whatever happens to the cluster, in all its lives. */
  listen(listener: (event: ClusterEvent) => void): void {
    this.#listeners.push(listener)
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

  /** Starts everything, for the first time or again; `ready` is called with each broker that is let in. */
  begin(ready: (id: number) => void = () => {}): void {
    const opened = new Map<number, FoundStorage>()
    let controllerStorage: Storage | undefined
    const open = () => {
      if (controllerStorage === undefined || opened.size < this.machines.length) return
      this.#make(opened, controllerStorage, ready)
    }
    this.do(() => {
      const { turns } = this.#env
      const foundController = (storage: Storage) => {
        controllerStorage = storage
        open()
      }
      if (this.#controller === undefined) foundController(new MemoryStorage({ turns }))
      else this.#controller.open(CLUSTER_ID, foundController)
      for (const machine of this.machines) {
        this.#openStorage(machine, this.#newLife(machine), (storage, previousBrokerEpoch) => {
          opened.set(machine.id, { storage, previousBrokerEpoch })
          open()
        })
      }
    })
  }

  #make(found: ReadonlyMap<number, FoundStorage>, controllerStorage: Storage, ready: (id: number) => void): void {
    const { plan, world } = this.#options
    const env = this.#env
    const timeline = new Timeline(() => world.now())
    timeline.listen(event => {
      for (const listener of this.#listeners) listener(event)
    })
    const onFatal = (error: unknown) => {
      throw error
    }
    const brokers = this.machines.map(({ id }) => ({ id, platform, ...(found.get(id) as FoundStorage) }))
    const make = () =>
      new Cluster({
        env,
        brokers,
        controllerStorage,
        mayFail: true,
        configs: plan.configs,
        clusterId: CLUSTER_ID,
        onRecord: (record, image) => {
          this.#decidedOffset++
          timeline.record(record, image)
        },
        onFatal,
        onMetadataFailure: onFatal,
      })
    const cluster = timeline.loading(make)
    this.#cluster = cluster
    this.#isDown = false
    this.#decidedOffset = cluster.metadataOffset
    this.#losses = new Losses(cluster, timeline)
    const ids = [CONTROLLER, ...plan.brokerIds]
    for (const from of ids) for (const to of ids) if (from !== to) this.healWay(from, to)
    for (const machine of this.machines) {
      this.#listen(machine)
      const { running } = machine
      cluster
        .broker(machine.id)
        .register(`broker-${machine.id}`, BROKER_PORT)
        .whenSettled(() => {
          if (running === undefined || machine.running !== running) return
          running.isReady = true
          ready(machine.id)
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
      endsWithAll: false,
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
    if (machine.running !== undefined || this.#isDown) return
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

  /** Ends the process of all brokers and the controller at once, by a signal or for want of power. */
  crashAll(kind: CrashKind | 'stop'): void {
    const { ending, ended, endingAll, network } = this.#options
    this.#isDown = true
    const living = this.machines.filter(({ running }) => running !== undefined)
    // Who was not let in yet, or was leaving by itself, ends as it is when the others have ended in good order.
    const kindOf = ({ running }: Machine) => (kind === 'stop' && !running?.endsWithAll ? 'kill' : kind)
    const ways = living.map(machine => ({ id: machine.id, way: kindOf(machine) }))
    endingAll(kind)
    for (const { id, way } of ways) ending(id, way)
    this.do(() => {
      for (const { running } of living) if (running !== undefined) running.life.struck = true
      this.#controller?.kill()
      this.cluster.endController()
      for (const { id, running } of living) {
        if (this.cluster.node(id).isUp) this.cluster.node(id).kill()
        running?.diskEnv.kill()
      }
      this.cluster.network.beginAnew()
    })
    for (const machine of living) {
      const { life } = machine.running as Running
      life.kill()
      machine.running = undefined
      network.processDied(life, kind === 'power' ? 'power' : 'kill')
    }
    for (const disk of this.disks) {
      if (kind === 'power') disk.losePower()
      else disk.processDied()
    }
    for (const { id, way } of ways) ended(id, way)
  }

  /** Strikes that process in the middle of what it does, between two changes of one of its disks: of the controller's, without an id. */
  strikeAll(id: number | undefined, changes: number, crash: () => void): void {
    const { disk } = id === undefined ? (this.#controller as ControllerMachine) : this.machine(id)
    disk.strikeAfter(changes, () => {
      if (this.#isDown) return
      this.#isDown = true
      for (const machine of this.machines) {
        machine.disk.freeze()
        if (machine.running === undefined) continue
        machine.running.life.struck = true
        this.#options.struck(machine.id)
      }
      this.#controller?.disk.freeze()
      for (const { id } of this.machines) this.cluster.network.stop(id)
      this.#env.afterwards(crash)
    })
  }

  /** Lets that process end in good order: it calls `done` when nothing is left but to end. Who is not let in yet is not waited for. */
  stopAll(done: () => void): void {
    this.#isDown = true
    const controller = this.#controller as ControllerMachine
    const serving = this.machines.filter(({ running }) => running?.isReady && !running.isStopping)
    let left = serving.length
    const ended = () => {
      if (--left > 0) return
      this.cluster.metadataLog.close().whenSettled(() => {
        controller.close(() => this.#env.afterwards(done))
      })
    }
    for (const { id, running } of serving) {
      this.resume(id)
      if (running !== undefined) running.endsWithAll = true
    }
    this.do(() => {
      this.cluster.endController()
      if (left === 0) {
        left = 1
        ended()
      }
      for (const { id, running } of serving) {
        const { broker } = this.cluster.node(id)
        broker.shutdown().whenSettled(() => {
          broker.replicas.directory.close(broker.brokerEpoch).whenSettled(() => {
            running?.storage?.close().whenSettled(ended)
          })
        })
      }
    })
  }

  /** Strikes a process in the middle of what it does, between two changes of its disk; then calls `crash`. */
  strike(id: number, changes: number, crash: () => void): void {
    const machine = this.machine(id)
    machine.disk.strikeAfter(changes, () => {
      const { running } = machine
      if (running === undefined || this.#isDown) return
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
    if (running === undefined || !running.isReady || running.isStopping || this.#isDown) return
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
    if (running === undefined || !running.isReady || running.isStopping || this.#isDown) return
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
