/**
 * The root of a data directory: which format it has, whose it is, and whether its last user stopped in good order. The files
 * bear Kafka's names and content (`meta.properties`, `.kafka_cleanshutdown`) beside one of our own that is read before all
 * others, `ottla.properties` with the version of the format. What lies in the directories of the logs is theirs.
 */

import { CLEAN_SHUTDOWN_FILE } from '../log/root-files.ts'
import { DELETED_SUFFIX } from '../log/segment-files.ts'
import { readWhole } from '../storage/read-whole.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import type { Turns } from '../util/turns.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { randomUuid } from '../util/uuid.ts'

export const FORMAT_FILE = 'ottla.properties'
export const META_FILE = 'meta.properties'
/** The version that this release writes. It reads every one from 1 on. */
const FORMAT_VERSION = 1

/** What may lie in a directory that is to become a data directory: marks of file systems and of version control. */
const HARMLESS = /^(\..*|lost\+found|ottla\.lock|.*\.tmp)$/

export interface DataDirectory {
  readonly clusterId: string
  readonly nodeId: number
  /** Of this directory, as Kafka gives one to each. */
  readonly directoryId: string
  readonly formatVersion: number
  /** True when it was made just now. */
  readonly isNew: boolean
  /** True when the broker before stopped in good order. */
  readonly cleanShutdown: boolean
  /** The broker epoch under which it stopped in good order, or −1. */
  readonly brokerEpoch: number
}

/** Why a directory cannot be used. */
export interface DataDirectoryProblem {
  readonly kind: 'tooNew' | 'invalid' | 'storage'
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
}

export interface DataDirectoryOptions {
  readonly storage: Storage
  readonly turns: Turns
  readonly nodeId: number
  /** For a directory that is made; a new one by default. One that is there has to belong to this cluster if it is given. */
  readonly clusterId?: string
  random(): number
}

/** What the format file says; undefined when there is none. Nothing else of the directory is looked at, or needed. */
export function readFormat(storage: Storage): { version: number } | DataDirectoryProblem | undefined {
  const text = readText(storage, FORMAT_FILE)
  if (text === undefined) return undefined
  const version = Number(parseLines(text).get('format.version'))
  if (!Number.isInteger(version) || version < 1) return invalid(`${FORMAT_FILE} does not say which format it has`)
  if (version <= FORMAT_VERSION) return { version }
  return {
    kind: 'tooNew',
    message: `its format is ${version}, and this release knows those up to ${FORMAT_VERSION}`,
    hint: 'open it with the release of Ottla that wrote it, or a later one',
  }
}

/** Reads the root of a data directory, and makes it in an empty one. Takes the mark of a good stop away. */
export function openDataDirectory(options: DataDirectoryOptions): Later<DataDirectory | DataDirectoryProblem> {
  const { storage, turns } = options
  const format = readFormat(storage)
  if (format !== undefined && 'kind' in format) return Later.of<DataDirectory | DataDirectoryProblem>(turns, format)
  const meta = readMeta(storage)
  if (meta !== undefined && 'kind' in meta) return Later.of<DataDirectory | DataDirectoryProblem>(turns, meta)
  const problem = checkRoot(options, format !== undefined, meta)
  if (problem !== undefined) return Later.of<DataDirectory | DataDirectoryProblem>(turns, problem)
  const shutdown = readCleanShutdown(storage)
  const directory: DataDirectory = {
    nodeId: options.nodeId,
    clusterId: meta?.clusterId ?? options.clusterId ?? randomUuid(options.random),
    directoryId: meta?.directoryId ?? randomUuid(options.random),
    formatVersion: format?.version ?? FORMAT_VERSION,
    isNew: meta === undefined,
    ...shutdown,
  }
  return prepare(directory, options)
}

/** What the last broker left: `LogDirectory` writes it, and it is taken away here. */
function readCleanShutdown(storage: Storage): { cleanShutdown: boolean; brokerEpoch: number } {
  const text = readText(storage, CLEAN_SHUTDOWN_FILE)
  if (text === undefined) return { cleanShutdown: false, brokerEpoch: -1 }
  try {
    const { brokerEpoch } = JSON.parse(text)
    return { cleanShutdown: true, brokerEpoch: Number.isSafeInteger(brokerEpoch) ? brokerEpoch : -1 }
  } catch {
    // Before 3.7 Kafka left an empty file.
    return { cleanShutdown: true, brokerEpoch: -1 }
  }
}

export interface Meta {
  readonly clusterId: string
  readonly nodeId: number
  readonly directoryId: string
}

/** What `meta.properties` says; undefined when there is none. */
export function readMeta(storage: Storage): Meta | DataDirectoryProblem | undefined {
  const text = readText(storage, META_FILE)
  if (text === undefined) return undefined
  const values = parseLines(text)
  const clusterId = values.get('cluster.id')
  const directoryId = values.get('directory.id')
  const nodeId = Number(values.get('node.id') ?? 'none')
  if (clusterId === undefined || directoryId === undefined || !Number.isInteger(nodeId)) {
    return invalid(`${META_FILE} does not name its cluster.id, node.id and directory.id`)
  }
  return { clusterId, nodeId, directoryId }
}

function checkRoot(
  { storage, nodeId, clusterId }: DataDirectoryOptions,
  hasFormat: boolean,
  meta: Meta | undefined,
): DataDirectoryProblem | undefined {
  if (!hasFormat) {
    const other = storage.list('').find(name => !HARMLESS.test(name))
    if (other === undefined) return undefined
    return invalid(`it holds ${other} and no ${FORMAT_FILE}: it is not a data directory of Ottla`, 'name an empty one')
  }
  if (meta === undefined) {
    const hasLogs = storage.list('').some(name => !HARMLESS.test(name) && name !== FORMAT_FILE)
    return hasLogs ? invalid(`${META_FILE} is missing`, `bring it back with its cluster.id and node.id`) : undefined
  }
  if (meta.nodeId !== nodeId) return invalid(`it belongs to node ${meta.nodeId}, and this is node ${nodeId}`)
  if (clusterId !== undefined && meta.clusterId !== clusterId) {
    return invalid(`it belongs to cluster ${meta.clusterId}, and this is ${clusterId}`)
  }
  return undefined
}

/**
 * Writes what is not there yet, and sweeps away what was being removed when the last process died. The mark of a good stop goes, for good,
 * before anything can be written: else it would be believed after a crash, and the logs taken to end where they did then.
 */
function prepare(
  directory: DataDirectory,
  { storage, turns }: DataDirectoryOptions,
): Later<DataDirectory | DataDirectoryProblem> {
  const prepared = new Later<DataDirectory | DataDirectoryProblem>(turns)
  const steps: (() => Later<StorageFailure | undefined>)[] = []
  if (directory.isNew) {
    steps.push(() => storage.replace(FORMAT_FILE, formatText(directory.formatVersion)))
    steps.push(() => storage.replace(META_FILE, metaText(directory)))
  }
  if (directory.cleanShutdown) {
    steps.push(() => storage.remove(CLEAN_SHUTDOWN_FILE))
  }
  // A process that was killed may have renamed checkpoints that a power cut now would take back: what is read here is relied on.
  steps.push(() => storage.syncDirectory(''))
  for (const name of storage.list('')) if (name.endsWith(DELETED_SUFFIX)) steps.push(() => storage.remove(name))
  const next = () => {
    const step = steps.shift()
    if (step === undefined) return void prepared.settle(directory)
    step().whenSettled(failure => {
      if (failure) prepared.settle({ kind: 'storage', message: failure.message })
      else next()
    })
  }
  next()
  return prepared
}

function formatText(version: number): Uint8Array {
  return utf8Encode(`# The format of this data directory of Ottla. Do not change it.\nformat.version=${version}\n`)
}

/** As `PropertiesUtils.writePropertiesFile` of Kafka writes it, without the date. */
function metaText({ clusterId, directoryId, nodeId }: Meta): Uint8Array {
  return utf8Encode(`#\ncluster.id=${clusterId}\ndirectory.id=${directoryId}\nnode.id=${nodeId}\nversion=1\n`)
}

function readText(storage: Storage, path: string): string | undefined {
  const bytes = readWhole(storage, path)
  return bytes && utf8Decode(bytes)
}

function parseLines(text: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const equals = line.indexOf('=')
    if (equals > 0 && !line.startsWith('#')) values.set(line.slice(0, equals).trim(), line.slice(equals + 1).trim())
  }
  return values
}

function invalid(message: string, hint?: string): DataDirectoryProblem {
  return { kind: 'invalid', message, hint }
}
