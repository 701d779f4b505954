/**
 * Makes the cluster that a broker runs: in memory, or on a data directory, which is locked, checked and read first.
 */
import {
  type DataDirectory,
  type DataDirectoryProblem,
  openDataDirectory,
  readFormat,
} from '../broker/data-directory.ts'
import { DiskCluster, MemoryCluster, type StandaloneCluster } from '../cluster/index.ts'
import { DiskStorage } from '../storage/disk-storage.ts'
import { StorageError } from '../storage/storage.ts'
import { OttlaError, type OttlaErrorCode, toError } from './errors.ts'
import { NodeFileSystem } from './node-file-system.ts'
import type { CheckedOptions } from './options.ts'
import { nodeRecordsPlatform } from './records-platform.ts'
import type { SystemEnv } from './system-env.ts'

/** A cluster of one: its only broker's id, as in Kafka's own quick start. */
const BROKER_ID = 1

const CODES: Record<DataDirectoryProblem['kind'], OttlaErrorCode> = {
  tooNew: 'OTTLA_DATA_DIR_TOO_NEW',
  invalid: 'OTTLA_DATA_DIR_INVALID',
  storage: 'OTTLA_DATA_DIR_FAILED',
}

/** @throws OttlaError when the data directory cannot be used */
export async function openCluster(
  options: CheckedOptions,
  env: SystemEnv,
  onFatal: (error: Error) => void,
): Promise<StandaloneCluster> {
  const { limits, dataDir } = options
  const shared = {
    env,
    platform: nodeRecordsPlatform,
    configs: options.configs,
    keepsFields: options.trace,
    evictDisconnected: options.evictDisconnected,
    emulates: options.emulate,
    limits,
    onFatal: (error: unknown) => onFatal(toError(error)),
  }
  if (dataDir === undefined) return new MemoryCluster({ ...shared, brokerId: BROKER_ID, maxBytes: limits.memoryBytes })
  const { storage, directory } = await openDisk(dataDir, env, { maxOpenFiles: limits.openFiles, nodeId: BROKER_ID })
  env.log('info', directory.isNew ? 'made a data directory' : 'opened a data directory', {
    path: storage.usage().path,
    cleanShutdown: directory.cleanShutdown,
  })
  try {
    const onMetadataFailure = ({ message }: { message: string }) => onFatal(metadataFailure(dataDir, message))
    return new DiskCluster({ ...shared, storage, directory, onMetadataFailure })
  } catch (error) {
    await env.settled(() => storage.close())
    throw failed(dataDir, error)
  }
}

/**
 * Opens the data directory of one node, which is locked and checked first.
 *
 * @throws OttlaError when it cannot be used
 */
export async function openDisk(
  dataDir: string,
  env: SystemEnv,
  { maxOpenFiles, nodeId, clusterId }: { maxOpenFiles: number; nodeId: number; clusterId?: string },
): Promise<{ storage: DiskStorage; directory: DataDirectory }> {
  let storage: DiskStorage | undefined
  try {
    storage = new DiskStorage({ fileSystem: new NodeFileSystem(env, dataDir), turns: env.turns, maxOpenFiles })
    const disk = storage
    // Whatever else a later release does otherwise, such as how it locks: first its number.
    const format = readFormat(disk)
    if (format !== undefined && 'kind' in format) throw refused(dataDir, format)
    const locked = await env.settled(() => disk.lock())
    if (locked?.code === 'LOCKED') {
      const hint = 'stop that one, or give this one a directory of its own'
      throw new OttlaError('OTTLA_DATA_DIR_LOCKED', `the data directory ${locked.message}`, { hint })
    }
    if (locked) throw new StorageError(locked.code, locked.message)
    const random = () => env.random()
    const opened = await env.settled(() =>
      openDataDirectory({ storage: disk, turns: env.turns, nodeId, clusterId, random }),
    )
    if ('kind' in opened) throw refused(dataDir, opened)
    return { storage, directory: opened }
  } catch (error) {
    const disk = storage
    if (disk !== undefined) await env.settled(() => disk.close())
    throw failed(dataDir, error)
  }
}

/** What the controller decides cannot be written down: whoever runs it has to end. */
export function metadataFailure(dataDir: string, message: string): OttlaError {
  const hint =
    'look at the disk, and start the broker again; only a boot of the machine shows for certain what is on it'
  const text = `what the cluster decides cannot be brought to ${dataDir}: ${message}`
  return new OttlaError('OTTLA_DATA_DIR_FAILED', text, { hint })
}

function refused(dataDir: string, { kind, message, hint }: DataDirectoryProblem): OttlaError {
  return new OttlaError(CODES[kind], `the data directory ${dataDir} cannot be used: ${message}`, { hint })
}

/** Errors of the system, and of storage, become errors of the caller; ours stay. */
export function failed(dataDir: string, error: unknown): unknown {
  if (error instanceof StorageError && error.code === 'DAMAGED') {
    const text = `the metadata in ${dataDir} is damaged: ${error.message}. Nothing was cut off or moved aside`
    const hint = `look with \`ottla verify ${dataDir}\`, and bring the directory back from a copy`
    return new OttlaError('OTTLA_DATA_DIR_DAMAGED', text, { hint, cause: error })
  }
  const isSystems = error instanceof StorageError || (error instanceof Error && 'syscall' in error)
  if (!isSystems) return error
  return new OttlaError('OTTLA_DATA_DIR_FAILED', `the data directory ${dataDir} cannot be used: ${error.message}`, {
    cause: error,
  })
}
