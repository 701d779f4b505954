/** A disk storage in a directory of its own, which goes when the test ends. Single calls of the file system can be replaced. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { NodeFileSystem } from '../../src/node/node-file-system.ts'
import { SystemEnv } from '../../src/node/system-env.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import type { FileSystem } from '../../src/storage/file-system.ts'
import type { Later } from '../../src/util/later.ts'

export interface TestDisk {
  /** Where it is. */
  root: string
  env: SystemEnv
  fileSystem: FileSystem
  storage: DiskStorage
  /** The names of the calls of the file system, with the path where there is one. */
  calls: string[]
  /** Calls that are done otherwise; filled by the test. */
  faults: Partial<FileSystem>
  /** Another storage on the same directory, as another process would make it. */
  another(): DiskStorage
  settled<T>(later: Later<T>): Promise<T>
}

const IN_MEMORY = '/dev/shm'

/** A directory that goes when the test ends; in memory, where the system has such, for tests that make thousands of files. */
export function temporaryDirectory({ inMemory = false } = {}): string {
  const root = mkdtempSync(join(inMemory && existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'ottla-disk-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }), 60_000)
  return root
}

export function diskForTests({
  maxOpenFiles,
  root = temporaryDirectory(),
}: {
  maxOpenFiles?: number
  root?: string
} = {}): TestDisk {
  const env = new SystemEnv({
    log: () => {},
    onFatal: error => {
      throw error
    },
  })
  const faults: Partial<FileSystem> = {}
  const calls: string[] = []
  const open = () => watched(new NodeFileSystem(env, root), faults, calls)
  const fileSystem = open()
  const another = (fileSystem = open()) => new DiskStorage({ fileSystem, turns: env.turns, maxOpenFiles })
  const settled = <T>(later: Later<T>) => env.settled(() => later)
  return { root, env, fileSystem, storage: another(fileSystem), calls, faults, another: () => another(), settled }
}

function watched(fileSystem: FileSystem, faults: Partial<FileSystem>, calls: string[]): FileSystem {
  return new Proxy(fileSystem, {
    get(target, name: keyof FileSystem) {
      const value = target[name]
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        calls.push(typeof args[0] === 'string' ? `${name} ${args[0]}` : name)
        return Reflect.apply((faults[name] as typeof value | undefined) ?? value, target, args)
      }
    },
  })
}
