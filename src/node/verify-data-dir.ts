/** Checks a data directory on the disk of this machine; the checking itself is in cluster/verify-data-directory.ts. */
import fs from 'node:fs'
import { join } from 'node:path'
import { FORMAT_FILE } from '../broker/data-directory.ts'
import { type VerifiedDirectory, verifyDataDirectory } from '../cluster/index.ts'
import type { Finding } from '../log/verify/finding.ts'
import { DiskStorage } from '../storage/disk-storage.ts'
import { StorageError } from '../storage/storage.ts'
import { DirectoryLock } from './directory-lock.ts'
import { OttlaError } from './errors.ts'
import { NodeFileSystem } from './node-file-system.ts'
import { nodeRecordsPlatform } from './records-platform.ts'
import { SystemEnv } from './system-env.ts'

/** What the controller's directory is called in that of a cluster. */
const CONTROLLER = 'controller'

export interface VerifyReport extends Omit<VerifiedDirectory, 'image'> {
  /** The broker that runs on it, in words. */
  readonly usedBy: string | undefined
}

/**
 * Checks the data directory of a broker, or that of a cluster, in which every node has one.
 *
 * @throws OttlaError `OTTLA_DATA_DIR_FAILED` when it cannot be read
 */
export async function verifyDataDir(directory: string): Promise<VerifyReport> {
  if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new OttlaError('OTTLA_DATA_DIR_FAILED', `there is no directory ${directory}`)
  }
  const env = new SystemEnv({
    log: () => {},
    onFatal: error => {
      throw error
    },
  })
  try {
    const nodes = nodesOf(directory)
    if (nodes.length === 0) return withoutImage(await verifyOne(env, directory))
    const report = { findings: [] as Finding[], logs: 0, segments: 0, batches: 0, bytes: 0 }
    let usedBy: string | undefined
    let image: VerifiedDirectory['image']
    for (const node of nodes) {
      const verified = await verifyOne(env, join(directory, node), image)
      report.findings.push(...verified.findings.map(each => ({ ...each, path: join(node, each.path) })))
      for (const sum of ['logs', 'segments', 'batches', 'bytes'] as const) report[sum] += verified[sum]
      usedBy ??= verified.usedBy
      image ??= verified.image
    }
    return { ...report, usedBy }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    throw new OttlaError('OTTLA_DATA_DIR_FAILED', `${directory} cannot be read: ${error.message}`, { cause: error })
  } finally {
    env.close()
  }
}

/** The directories of the nodes of a cluster, the controller's first; none for that of a broker. */
function nodesOf(directory: string): string[] {
  if (fs.existsSync(join(directory, FORMAT_FILE))) return []
  const nodes = fs.readdirSync(directory).filter(name => fs.existsSync(join(directory, name, FORMAT_FILE)))
  return nodes.sort((one, other) => Number(other === CONTROLLER) - Number(one === CONTROLLER) || (one < other ? -1 : 1))
}

async function verifyOne(
  env: SystemEnv,
  directory: string,
  image?: VerifiedDirectory['image'],
): Promise<VerifiedDirectory & Pick<VerifyReport, 'usedBy'>> {
  const usedBy = await new DirectoryLock(fs.realpathSync(directory)).holder()
  const fileSystem = new NodeFileSystem(env, directory, { readOnly: true })
  const storage = new DiskStorage({ fileSystem, turns: env.turns })
  const verified = verifyDataDirectory({ env, storage, platform: nodeRecordsPlatform, image })
  await env.settled(() => storage.close())
  return { ...verified, usedBy }
}

function withoutImage({ image: _, ...report }: VerifiedDirectory & Pick<VerifyReport, 'usedBy'>): VerifyReport {
  return report
}
