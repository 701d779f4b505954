/**
 * Opens the brokers of a cluster: all in this thread, or each in a worker thread of its own.
 */
import type { Hub } from '../cluster/index.ts'
import { MemoryMeter } from '../storage/memory-meter.ts'
import type { CheckedClusterOptions } from './cluster-options.ts'
import { diskBrokerStorage, memoryBrokerStorage } from './cluster-storage.ts'
import { NodeHost } from './node-host.ts'
import type { ClusterNode } from './node-methods.ts'
import type { SystemEnv } from './system-env.ts'

interface NodesOptions {
  readonly env: SystemEnv
  readonly options: CheckedClusterOptions
  readonly hub: Hub
  readonly onFatal: (error: Error) => void
  /** Where those that were opened are put, by their ids, even if another cannot be. */
  readonly nodes: Map<number, ClusterNode>
}

/** @throws what the first threw that cannot be opened; the others are there then, to be closed */
export async function openNodes(given: NodesOptions): Promise<void> {
  const meter = new MemoryMeter(given.options.limits.memoryBytes)
  const opened = await Promise.allSettled(
    given.options.brokers.map(async ({ id, rack }) => {
      given.nodes.set(id, await openHere(given, meter, { id, rack }))
    }),
  )
  for (const each of opened) if (each.status === 'rejected') throw each.reason
}

function openHere(
  { env, options, hub, onFatal }: NodesOptions,
  meter: MemoryMeter,
  { id, rack }: { id: number; rack: string | undefined },
): Promise<NodeHost> {
  const { clusterId } = hub
  const { dataDir, limits } = options
  const storage =
    dataDir === undefined
      ? memoryBrokerStorage(env, meter)
      : diskBrokerStorage(env, { dataDir, brokerId: id, clusterId, openFiles: limits.openFiles })
  return NodeHost.open({ env, id, rack, clusterId, options, storage, uplink: hub.place(id), onFatal })
}
