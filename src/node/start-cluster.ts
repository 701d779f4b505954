/**
 * `startCluster`, the way in to several brokers: each with its own port, logs and view of the cluster, in this thread or in one of its own,
 * and a controller. They can be killed, paused and started again, and links between them cut.
 */

import { join } from 'node:path'
import { Hub } from '../cluster/index.ts'
import { Losses } from '../cluster/losses.ts'
import { Timeline } from '../cluster/timeline.ts'
import { type BrokerParts, ClusterBrokerHandle } from './cluster-broker.ts'
import { ClusterFaults } from './cluster-faults.ts'
import { ClusterHandle, type ClusterParts, endCluster } from './cluster-handle.ts'
import { openNodes } from './cluster-nodes.ts'
import { type CheckedClusterOptions, type ClusterOptions, checkClusterOptions } from './cluster-options.ts'
import { ClusterResets } from './cluster-resets.ts'
import { CONTROLLER_DIRECTORY, type ControllerStorage, openControllerStorage } from './cluster-storage.ts'
import { makeTopics } from './cluster-topic.ts'
import type { HttpEndpoint } from './http.ts'
import { type LogFunction, makeLog } from './log.ts'
import { NodeEvents } from './node-events.ts'
import type { ClusterNode } from './node-methods.ts'
import { failed, metadataFailure } from './open-cluster.ts'
import { nodeRecordsPlatform } from './records-platform.ts'
import type { RunningCluster } from './running-cluster.ts'
import { SystemEnv } from './system-env.ts'
import { Waits } from './waits.ts'

/**
 * Starts a cluster, and resolves when all its brokers accept connections and have been let in.
 *
 * @throws OttlaError when an option is wrong (`OTTLA_INVALID_OPTION`, `OTTLA_UNKNOWN_CONFIG`, `OTTLA_INVALID_CONFIG`) or a port or directory
 * cannot be had (`OTTLA_PORT_IN_USE`, `OTTLA_DATA_DIR_LOCKED`, …)
 *
 * @example
 * await using cluster = await startCluster({ brokers: 3, topics: ['orders:3'] })
 * const kafka = new Kafka({ brokers: cluster.bootstrapServers.split(',') })
 * await cluster.broker(1).kill()
 * await cluster.settled()
 * console.log(await cluster.timeline())
 */
export async function startCluster(options: ClusterOptions = {}): Promise<RunningCluster> {
  return launchCluster(options, parts => new ClusterHandle(parts))
}

/** The same with a handle of one's own. */
export async function launchCluster<Handle extends ClusterHandle>(
  options: ClusterOptions,
  handleOf: (parts: ClusterParts) => Handle,
): Promise<Handle> {
  const checked = checkClusterOptions(options)
  const log = makeLog(options.log, options.logLevel)
  const onFatal = (error: Error) => {
    if (options.onFatal !== undefined) options.onFatal(error)
    // The log has it already, unless there is none: a mistake of ours is never swallowed.
    else if (options.log === false) process.emitWarning(error)
  }
  const env = new SystemEnv({
    log,
    virtualTime: checked.virtualTime,
    onFatal(error) {
      log('error', `internal error: ${error.stack ?? error.message}`, {})
      onFatal(error)
    },
  })
  try {
    return await start({ options: checked, env, log, onFatal, handleOf })
  } catch (error) {
    env.close()
    throw error
  }
}

interface Start<Handle> {
  readonly options: CheckedClusterOptions
  readonly env: SystemEnv
  readonly log: LogFunction
  readonly onFatal: (error: Error) => void
  readonly handleOf: (parts: ClusterParts) => Handle
}

async function start<Handle extends ClusterHandle>(given: Start<Handle>): Promise<Handle> {
  const { options, env } = given
  const { dataDir } = options
  const storage = await openControllerStorage(env, { dataDir, openFiles: options.limits.openFiles })
  const timeline = new Timeline(() => env.now())
  let hub: Hub
  try {
    hub = timeline.loading(() => newHub(given, storage, timeline))
  } catch (error) {
    await storage.close()
    throw dataDir === undefined ? error : failed(join(dataDir, CONTROLLER_DIRECTORY), error)
  }
  const nodes = new Map<number, ClusterNode>()
  const waits = new Waits(options.workers ? new NodeEvents(env, nodes) : env)
  const faults = new ClusterFaults({ env, hub, nodes, waits })
  const parts = { env, hub, nodes, storage, timeline, waits, faults }
  let http: HttpEndpoint | undefined
  try {
    await openNodes({ ...given, hub, nodes, timeline })
    const losses = new Losses(hub, timeline)
    const brokers = await listen(options, { ...parts, losses })
    const resets = new ClusterResets({ ...parts, losses, topics: options.topics })
    http = await startObserver(options, { ...parts, brokers })
    const handle = given.handleOf({ ...parts, brokers, resets, http })
    await Promise.all([...nodes.values()].map(node => node.register()))
    await makeTopics(parts, options.topics)
    env.log('info', 'listening', { bootstrapServers: handle.bootstrapServers, clusterId: handle.clusterId })
    return handle
  } catch (error) {
    await endCluster({ ...parts, http })
    throw error
  }
}

/** The HTTP side, if it is asked for; its code is loaded only then. */
async function startObserver(
  { http }: CheckedClusterOptions,
  cluster: Pick<ClusterParts, 'hub' | 'nodes' | 'brokers'>,
): Promise<HttpEndpoint | undefined> {
  if (http === undefined) return undefined
  const [{ startHttp }, { clusterPages }] = await Promise.all([import('./http.ts'), import('./pages.ts')])
  return startHttp(http, clusterPages(cluster))
}

function newHub(
  { options, env, onFatal }: Omit<Start<unknown>, 'handleOf'>,
  { clusterId, storage }: ControllerStorage,
  timeline: Timeline,
): Hub {
  return new Hub({
    env,
    brokerIds: options.brokers.map(({ id }) => id),
    storage,
    platform: nodeRecordsPlatform,
    mayFail: true,
    configs: options.configs,
    clusterId,
    onRecord: (record, image) => timeline.record(record, image),
    onMetadataFailure: ({ message }) => onFatal(metadataFailure(String(options.dataDir), message)),
  })
}

/** All brokers accept connections, so that each can tell the controller its port. */
async function listen(
  { brokers, advertised: { host } }: CheckedClusterOptions,
  {
    hub,
    nodes,
    ...shared
  }: Pick<BrokerParts, 'env' | 'timeline' | 'losses' | 'faults'> & Pick<ClusterParts, 'hub' | 'nodes'>,
): Promise<ClusterBrokerHandle[]> {
  const handles: ClusterBrokerHandle[] = []
  for (const { id, port, rack } of brokers) {
    const node = nodes.get(id) as ClusterNode
    handles.push(
      new ClusterBrokerHandle({ ...shared, place: hub.place(id), node, host, rack, port: await node.listen(port) }),
    )
  }
  return handles
}
