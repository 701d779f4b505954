/**
 * Where the controller of a simulated cluster keeps what it decides: a disk of its own, as `startCluster` with a data directory has it. The
 * controller lives in the process of all brokers, and ends with it alone.
 */

import { openDataDirectory } from '../../../src/broker/data-directory.ts'
import { NodeEnv } from '../../../src/cluster/node-env.ts'
import { DiskStorage } from '../../../src/storage/disk-storage.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import type { Env } from '../../../src/util/env.ts'
import type { Chance } from '../chance.ts'
import { Violation } from '../history.ts'
import { SimulatedDisk } from '../simulated-disk.ts'
import { SimulatedFileSystem } from '../simulated-file-system.ts'

const CONTROLLER_NODE = 3000

export class ControllerMachine {
  readonly disk: SimulatedDisk
  readonly #world: Env
  /** The Env of its disk while a process runs. */
  #env: NodeEnv | undefined
  #storage: DiskStorage | undefined

  constructor(chance: Chance, world: Env) {
    this.disk = new SimulatedDisk(chance)
    this.#world = world
  }

  /** As a process does it that is started on a directory. */
  open(clusterId: string, then: (storage: Storage) => void): void {
    const { turns } = this.#world
    const env = new NodeEnv(this.#world, 'controller')
    this.#env = env
    const storage = new DiskStorage({ fileSystem: new SimulatedFileSystem(this.disk, env), turns, maxOpenFiles: 100 })
    this.#storage = storage
    const random = () => this.disk.chance.next()
    storage.lock().whenSettled(refused => {
      if (refused) throw new Violation('opening', `the controller cannot lock its disk: ${refused.message}`)
      openDataDirectory({ storage, turns, nodeId: CONTROLLER_NODE, clusterId, random }).whenSettled(found => {
        if ('kind' in found) throw new Violation('opening', `the controller: ${found.message}`)
        then(storage)
      })
    })
  }

  /** Gives the directory back. */
  close(done: () => void): void {
    this.#storage?.close().whenSettled(done)
  }

  /** The process is gone. */
  kill(): void {
    this.#env?.kill()
  }
}
