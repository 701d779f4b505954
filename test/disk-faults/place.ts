/** A broker on a disk one of whose calls fails: started, asked, stopped, killed, and started again, as an operator and a client would do it. */

import { openDataDirectory } from '../../src/broker/data-directory.ts'
import { DiskCluster } from '../../src/cluster/disk-cluster.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from '../../src/protocol/dsl.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import { StorageError } from '../../src/storage/storage.ts'
import type { Later } from '../../src/util/later.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform, TestConnection } from '../broker/harness.ts'
import { Chance } from '../sim/chance.ts'
import { SimulatedDisk } from '../sim/simulated-disk.ts'
import { FailingFileSystem, type Failure } from './failing-file-system.ts'

const CONFIGS = {
  'log.flush.interval.messages': '1',
  'offsets.topic.num.partitions': '1',
  'group.initial.rebalance.delay.ms': '0',
  'log.retention.check.interval.ms': '60000',
  'log.cleaner.backoff.ms': '5000',
}
const PATIENCE_MS = 40_000

export class Place {
  readonly disk = new SimulatedDisk(new Chance(1))
  readonly failure: Failure
  #env = new VirtualEnv()
  #starts = 0
  #cluster: DiskCluster | undefined
  #connection: TestConnection | undefined
  /** Why the process ended itself, or did not start. */
  refusal: string | undefined

  constructor(failure: Failure) {
    this.failure = failure
  }

  get env(): VirtualEnv {
    return this.#env
  }

  get isUp(): boolean {
    return this.#cluster !== undefined
  }

  #settled<T>(later: Later<T>): T {
    for (let left = 20_000; !later.settled && left > 0; left--) if (!this.#env.step()) break
    return later.value
  }

  /** False when the broker refuses to start, which ends the process. */
  start(): boolean {
    // The processes of before do nothing any more.
    this.#env = new VirtualEnv({ seed: ++this.#starts, now: this.#env.now() + 1000 })
    this.refusal = undefined
    try {
      return this.#open()
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      return this.#refuse(error.message)
    }
  }

  #open(): boolean {
    const env = this.#env
    const storage = new DiskStorage({
      fileSystem: new FailingFileSystem(this.disk, env, this.failure),
      turns: env.turns,
    })
    const locked = this.#settled(storage.lock())
    if (locked !== undefined) return this.#refuse(locked.message)
    const directory = this.#settled(
      openDataDirectory({ storage, turns: env.turns, nodeId: 1, random: () => env.random() }),
    )
    if ('kind' in directory) return this.#refuse(directory.message)
    const onFatal = (error: unknown) => {
      throw error
    }
    const onMetadataFailure = ({ message }: { message: string }) => this.#refuse(message)
    this.#cluster = new DiskCluster({ env, configs: CONFIGS, onFatal, onMetadataFailure, platform, storage, directory })
    const started = this.#cluster.start({ host: 'localhost', port: 9092, topics: [] })
    for (let left = 2000; !started.settled && this.refusal === undefined && left > 0; left--) if (!env.step()) break
    if (this.refusal !== undefined) return false
    if (!started.settled) return this.#refuse('it does not come up')
    this.#connect()
    return true
  }

  #connect(): TestConnection {
    this.#connection = new TestConnection(this.#env, (this.#cluster as DiskCluster).cluster)
    return this.#connection
  }

  #refuse(reason: string): false {
    this.refusal = reason
    this.kill()
    return false
  }

  /** The answer; undefined when there is none, because the process ended or for another reason. */
  ask<Req extends Fields, Res extends Fields>(
    api: Api<Req, Res>,
    version: number,
    body: Encodable<Struct<Req>>,
  ): Decoded<Struct<Res>> | undefined {
    if (this.#cluster === undefined) return undefined
    let connection = this.#connection ?? this.#connect()
    if (connection.closed) connection = this.#connect()
    const read = connection.send(api, version, body)
    const end = this.#env.now() + PATIENCE_MS
    for (;;) {
      const answer = read()
      if (answer !== undefined) return answer
      if (!this.isUp || connection.closed || this.#env.now() >= end) break
      if (!this.#env.step()) break
    }
    // What comes late would be taken for the answer to something else.
    this.#connection = undefined
    return undefined
  }

  wait(ms: number): void {
    this.#env.advance(ms)
  }

  /** In good order. */
  stop(): void {
    if (this.#cluster !== undefined) this.#settled(this.#cluster.shutdown())
    this.kill()
  }

  kill(): void {
    this.#cluster = undefined
    this.#connection = undefined
    this.disk.processDied()
  }

  /** The machine stops: what was not synced is lost. */
  losePower(): void {
    this.kill()
    this.disk.losePower()
  }
}
