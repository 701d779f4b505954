/**
 * `startCluster`, the way in to several brokers: each with its own port, logs and view of the cluster, in this thread, and a controller. They can
 * be killed, paused and started again, and links between them cut.
 */

import { join } from 'node:path'
import { Gate } from '../cluster/gate.ts'
import { Cluster } from '../cluster/index.ts'
import { Losses } from '../cluster/losses.ts'
import { Timeline } from '../cluster/timeline.ts'
import { ClusterHandle, type ClusterParts } from './cluster-handle.ts'
import { type CheckedClusterOptions, type ClusterOptions, checkClusterOptions } from './cluster-options.ts'
import { type ClusterStorage, CONTROLLER_DIRECTORY, openClusterStorage } from './cluster-storage.ts'
import { ClusterTcp } from './cluster-tcp.ts'
import { OttlaError, toError } from './errors.ts'
import { makeLog } from './log.ts'
import { failed, metadataFailure } from './open-cluster.ts'
import { nodeRecordsPlatform } from './records-platform.ts'
import type { RunningCluster } from './running-cluster.ts'
import { SystemEnv } from './system-env.ts'

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
    const { dataDir, limits } = checked
    const storage = await openClusterStorage(env, { dataDir, ...limits })
    try {
      return await start({ options: checked, env, storage, onFatal, handleOf })
    } catch (error) {
      await storage.close()
      throw dataDir === undefined ? error : failed(join(dataDir, CONTROLLER_DIRECTORY), error)
    }
  } catch (error) {
    env.close()
    throw error
  }
}

interface Start<Handle> {
  readonly options: CheckedClusterOptions
  readonly env: SystemEnv
  readonly storage: ClusterStorage
  readonly onFatal: (error: Error) => void
  readonly handleOf: (parts: ClusterParts) => Handle
}

async function start<Handle extends ClusterHandle>({
  options,
  env,
  storage,
  onFatal,
  handleOf,
}: Start<Handle>): Promise<Handle> {
  const timeline = new Timeline(() => env.now())
  const brokers = []
  for (const { id, rack } of options.brokers) {
    brokers.push({ id, rack, platform: nodeRecordsPlatform, ...(await storage.open(id)) })
  }
  const cluster = new Cluster({
    env,
    brokers,
    clusterId: storage.clusterId,
    controllerStorage: storage.controller,
    mayFail: true,
    configs: options.configs,
    keepsFields: options.trace,
    limits: options.limits,
    onRecord: (record, image) => timeline.record(record, image),
    onMetadataFailure: ({ message }) => onFatal(metadataFailure(String(options.dataDir), message)),
    onFatal: error => onFatal(toError(error)),
  })
  const tcp = new ClusterTcp(env, options)
  const losses = new Losses(cluster, timeline)
  const handle = handleOf({ env, cluster, storage, tcp, timeline, losses })
  try {
    for (const { id, port } of options.brokers) await tcp.listen(id, port, new Gate(cluster.node(id)))
    await env.settled(() => handle.registerAll())
    const refused = await env.settled(() => cluster.createTopics(options.topics))
    if (refused !== undefined) throw new OttlaError('OTTLA_INVALID_OPTION', refused.message, { cause: refused })
  } catch (error) {
    await handle.close()
    throw error
  }
  env.log('info', 'listening', { bootstrapServers: handle.bootstrapServers, clusterId: handle.clusterId })
  return handle
}
