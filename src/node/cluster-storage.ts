/**
 * Where the nodes of a cluster keep what they write: in memory, within one limit for all, or on a data directory each, side by side. A node in
 * memory that is killed finds its storage again, as a process finds its disk.
 */
import { join } from 'node:path'
import type { PreviousBrokerEpoch } from '../broker/link.ts'
import { MemoryMeter } from '../storage/memory-meter.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import type { Storage } from '../storage/storage.ts'
import { openDisk } from './open-cluster.ts'
import type { SystemEnv } from './system-env.ts'

/** In a data directory every node has an id, and the controller is none of the brokers. */
const CONTROLLER_NODE = 3000
export const CONTROLLER_DIRECTORY = 'controller'

interface NodeStorage {
  readonly storage: Storage
  /** See `BrokerRegistration.previousBrokerEpoch`. */
  readonly previousBrokerEpoch: PreviousBrokerEpoch
}

export interface ClusterStorage {
  /** Undefined in memory: any will do. */
  readonly clusterId: string | undefined
  readonly controller: Storage
  /** What a broker finds when it starts. */
  open(brokerId: number): Promise<NodeStorage>
  /** Gives back what a broker had that is gone. */
  release(brokerId: number): Promise<void>
  close(): Promise<void>
}

export async function openClusterStorage(
  env: SystemEnv,
  options: { dataDir: string | undefined; memoryBytes: number; openFiles: number },
): Promise<ClusterStorage> {
  const { dataDir, memoryBytes, openFiles } = options
  return dataDir === undefined ? inMemory(env, memoryBytes) : onDisk(env, dataDir, openFiles)
}

function inMemory(env: SystemEnv, memoryBytes: number): ClusterStorage {
  const meter = new MemoryMeter(memoryBytes)
  const storages = new Map<number, MemoryStorage>()
  return {
    clusterId: undefined,
    controller: new MemoryStorage({ turns: env.turns }),
    async open(brokerId) {
      const storage = storages.get(brokerId) ?? new MemoryStorage({ turns: env.turns, meter })
      storages.set(brokerId, storage)
      return { storage, previousBrokerEpoch: -1 }
    },
    async release() {},
    async close() {},
  }
}

async function onDisk(env: SystemEnv, dataDir: string, maxOpenFiles: number): Promise<ClusterStorage> {
  const held = new Map<number, Storage>()
  const release = async (nodeId: number) => {
    const storage = held.get(nodeId)
    held.delete(nodeId)
    if (storage !== undefined) await env.settled(() => storage.close())
  }
  const open = async (nodeId: number, name: string, clusterId?: string) => {
    const opened = await openDisk(join(dataDir, name), env, { maxOpenFiles, nodeId, clusterId })
    held.set(nodeId, opened.storage)
    return opened
  }
  const { storage: controller, directory } = await open(CONTROLLER_NODE, CONTROLLER_DIRECTORY)
  const { clusterId } = directory
  return {
    clusterId,
    controller,
    async open(brokerId) {
      const opened = await open(brokerId, `broker-${brokerId}`, clusterId)
      return { storage: opened.storage, previousBrokerEpoch: opened.directory.brokerEpoch }
    },
    release,
    async close() {
      for (const nodeId of [...held.keys()]) await release(nodeId)
    },
  }
}
