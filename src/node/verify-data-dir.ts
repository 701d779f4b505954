/** Checks a data directory on the disk of this machine; the checking itself is in cluster/verify-data-directory.ts. */
import fs from 'node:fs'
import { type VerifiedDirectory, verifyDataDirectory } from '../cluster/index.ts'
import { DiskStorage } from '../storage/disk-storage.ts'
import { StorageError } from '../storage/storage.ts'
import { DirectoryLock } from './directory-lock.ts'
import { OttlaError } from './errors.ts'
import { NodeFileSystem } from './node-file-system.ts'
import { nodeRecordsPlatform } from './records-platform.ts'
import { SystemEnv } from './system-env.ts'

export interface VerifyReport extends VerifiedDirectory {
  /** The broker that runs on it, in words. */
  readonly usedBy: string | undefined
}

/** @throws OttlaError `OTTLA_DATA_DIR_FAILED` when it cannot be read */
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
    const usedBy = await new DirectoryLock(fs.realpathSync(directory)).holder()
    const fileSystem = new NodeFileSystem(env, directory, { readOnly: true })
    const storage = new DiskStorage({ fileSystem, turns: env.turns })
    const verified = verifyDataDirectory({ env, storage, platform: nodeRecordsPlatform })
    await env.settled(() => storage.close())
    return { ...verified, usedBy }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    throw new OttlaError('OTTLA_DATA_DIR_FAILED', `${directory} cannot be read: ${error.message}`, { cause: error })
  } finally {
    env.close()
  }
}
