/**
 * Where the nodes of a cluster keep what they write: in memory, or on a data directory each, side by side. A broker in
 * memory that is killed finds its storage again, as a process finds its disk.
 */
import { join } from 'node:path'
import type { PreviousBrokerEpoch } from '../broker/link.ts'
import type { MemoryMeter } from '../storage/memory-meter.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { failed, openDisk } from './open-cluster.ts'
import type { SystemEnv } from './system-env.ts'

/** In a data directory every node has an id, and the controller is none of the brokers. */
const CONTROLLER_NODE = 3000
export const CONTROLLER_DIRECTORY = 'controller'

export interface ControllerStorage {
  /** Undefined in memory: any will do. */
  readonly clusterId: string | undefined
  readonly storage: Storage
  /** The storage, if it is memory. */
  readonly memory: MemoryStorage | undefined
  close(): Promise<void>
}

/** @throws OttlaError when the directory cannot be used */
export async function openControllerStorage(
  env: SystemEnv,
  { dataDir, openFiles }: { dataDir: string | undefined; openFiles: number },
): Promise<ControllerStorage> {
  if (dataDir === undefined) {
    const memory = new MemoryStorage({ turns: env.turns })
    return { clusterId: undefined, storage: memory, memory, close: async () => {} }
  }
  const path = join(dataDir, CONTROLLER_DIRECTORY)
  const { storage, directory } = await openDisk(path, env, { maxOpenFiles: openFiles, nodeId: CONTROLLER_NODE })
  const close = async () => void (await env.settled(() => storage.close()))
  return { clusterId: directory.clusterId, storage, memory: undefined, close }
}

/** What a broker finds when it starts. */
interface FoundStorage {
  readonly storage: Storage
  /** See `BrokerRegistration.previousBrokerEpoch`. */
  readonly previousBrokerEpoch: PreviousBrokerEpoch
}

/** Where one broker keeps its logs. */
export interface BrokerStorage {
  /** The storage, if it is memory. */
  readonly memory: MemoryStorage | undefined
  /** @throws OttlaError when the directory cannot be used */
  open(): Promise<FoundStorage>
  /** Gives back what was opened: the broker is gone. */
  release(): Promise<void>
  /** What was thrown while it was used, as an error of the caller. */
  failed(error: unknown): unknown
}

/** All brokers of a thread share what the meter allows. */
export function memoryBrokerStorage(env: SystemEnv, meter: MemoryMeter): BrokerStorage {
  const storage = new MemoryStorage({ turns: env.turns, meter })
  return {
    memory: storage,
    open: async () => ({ storage, previousBrokerEpoch: -1 }),
    release: async () => {},
    failed: error => error,
  }
}

export interface DiskBrokerStorageOptions {
  readonly dataDir: string
  readonly brokerId: number
  readonly clusterId: string
  readonly openFiles: number
}

export function diskBrokerStorage(env: SystemEnv, options: DiskBrokerStorageOptions): BrokerStorage {
  const { dataDir, brokerId, clusterId, openFiles } = options
  const path = join(dataDir, `broker-${brokerId}`)
  let held: Storage | undefined
  return {
    memory: undefined,
    async open() {
      const opened = await openDisk(path, env, { maxOpenFiles: openFiles, nodeId: brokerId, clusterId })
      held = opened.storage
      return { storage: opened.storage, previousBrokerEpoch: opened.directory.brokerEpoch }
    },
    async release() {
      const storage = held
      held = undefined
      if (storage !== undefined) await env.settled(() => storage.close())
    },
    failed: error => failed(path, error),
  }
}
