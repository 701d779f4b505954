/**
 * Opens the brokers of a cluster: all in this thread, or each in a worker thread of its own.
 */
import type { Hub } from '../cluster/index.ts'
import type { Timeline } from '../cluster/timeline.ts'
import { MemoryMeter } from '../storage/memory-meter.ts'
import type { CheckedClusterOptions } from './cluster-options.ts'
import { diskBrokerStorage, memoryBrokerStorage } from './cluster-storage.ts'
import type { LogFunction } from './log.ts'
import { NodeHost } from './node-host.ts'
import type { ClusterNode } from './node-methods.ts'
import type { SystemEnv } from './system-env.ts'
import { WorkerNode } from './worker-node.ts'

interface NodesOptions {
  readonly env: SystemEnv
  readonly options: CheckedClusterOptions
  readonly hub: Hub
  readonly timeline: Timeline
  readonly log: LogFunction
  readonly onFatal: (error: Error) => void
  /** Where those that were opened are put, by their ids, even if another cannot be. */
  readonly nodes: Map<number, ClusterNode>
}

type BrokerOptions = CheckedClusterOptions['brokers'][number]

/** @throws what the first threw that cannot be opened; the others are there then, to be closed */
export async function openNodes(given: NodesOptions): Promise<void> {
  const { brokers, limits, workers } = given.options
  const meter = new MemoryMeter(limits.memoryBytes)
  const opened = await Promise.allSettled(
    brokers.map(async broker => {
      given.nodes.set(broker.id, await (workers ? openInWorker(given, broker) : openHere(given, broker, meter)))
    }),
  )
  for (const each of opened) if (each.status === 'rejected') throw each.reason
}

function openHere({ env, options, hub, onFatal }: NodesOptions, { id, rack }: BrokerOptions, meter: MemoryMeter) {
  const { clusterId } = hub
  const { dataDir, limits } = options
  const storage =
    dataDir === undefined
      ? memoryBrokerStorage(env, meter)
      : diskBrokerStorage(env, { dataDir, brokerId: id, clusterId, openFiles: limits.openFiles })
  return NodeHost.open({ env, id, rack, clusterId, options, storage, uplink: hub.place(id), onFatal })
}

function openInWorker(given: NodesOptions, { id, rack }: BrokerOptions) {
  const { env, options, hub, timeline, log, onFatal } = given
  const place = hub.place(id)
  // Threads share no bytes, so that each gets its part of what all may take.
  const limits = { ...options.limits, memoryBytes: Math.floor(options.limits.memoryBytes / options.brokers.length) }
  return WorkerNode.open({
    env,
    place,
    input: {
      type: 'node',
      id,
      rack,
      clusterId: hub.clusterId,
      options: { ...options, limits },
      logLevel: options.postedLevel,
    },
    log,
    onFatal,
    onDied: ({ cause, message }) =>
      void env.event(() => {
        timeline.act(`broker ${id} died: ${cause instanceof Error ? cause.message : message}`)
        place.detach('killed')
      }),
  })
}
