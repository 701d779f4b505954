/**
 * Faults planted in the broker or below it, from outside, to see that the simulator finds them: by replacing methods of classes while
 * a simulation runs, or by a file system that lies. Nothing in `src/` knows of them.
 */

import { GroupCoordinator } from '../../src/coordinator/group/group-coordinator.ts'
import type { CoordinatorLog } from '../../src/coordinator/ports.ts'
import { Log } from '../../src/log/log.ts'
import type { FileId, FileSystem, FileSystemFailure } from '../../src/storage/file-system.ts'
import { Later } from '../../src/util/later.ts'
import type { WantedPlan } from './plan.ts'
import type { ProcessEnv } from './process-env.ts'
import type { SimulatedFileSystem } from './simulated-file-system.ts'
import type { SimulationOptions } from './simulation.ts'

export interface PlantedFault {
  readonly name: string
  /** The cluster and the faults of nature in which it can show. */
  readonly plan: WantedPlan
  readonly wrapFileSystem?: SimulationOptions['wrapFileSystem']
  /** Plants it; the function returned takes it out. */
  readonly plant?: () => () => void
}

function replace<T extends object, K extends keyof T>(owner: T, name: K, make: (original: T[K]) => T[K]): () => void {
  const original = owner[name]
  owner[name] = make(original)
  return () => {
    owner[name] = original
  }
}

/** A file system that passes everything on but what is replaced. */
function wrapped(files: SimulatedFileSystem, replaced: Partial<FileSystem>): FileSystem {
  return new Proxy(files as FileSystem, {
    get(target, name) {
      const own = replaced[name as keyof FileSystem]
      if (own !== undefined) return own
      const value = target[name as keyof FileSystem]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function succeeded(env: ProcessEnv): Later<FileSystemFailure | undefined> {
  return Later.of<FileSystemFailure | undefined>(env.turns, undefined)
}

const POWER_CUTS: WantedPlan = {
  storage: 'disk',
  flush: 'commit',
  faults: { powerCuts: 5, kills: 0, flips: 0, diskErrors: 0, fullDisks: 0 },
}

export const PLANTED: readonly PlantedFault[] = [
  {
    name: 'acknowledges before the flush',
    plan: POWER_CUTS,
    // It begins the flush, and does not wait for its end.
    wrapFileSystem: (files, env) =>
      wrapped(files, {
        syncFile: (file: FileId) => {
          files.syncFile(file)
          return succeeded(env)
        },
      }),
  },
  {
    name: 'forgets the sync of the directory',
    plan: POWER_CUTS,
    wrapFileSystem: (files, env) => wrapped(files, { syncDirectory: () => succeeded(env) }),
  },
  {
    name: 'lets the high watermark pass what is not flushed',
    plan: POWER_CUTS,
    plant: () =>
      replace(Log.prototype, 'appendAsLeader', original => {
        return function (this: Log, ...args) {
          const result = original.apply(this, args)
          this.updateHighWatermark(this.logEndOffset)
          return result
        }
      }),
  },
  {
    name: 'applies before it appends',
    plan: {
      storage: 'disk',
      groups: [],
      faults: { fullDisks: 8, kills: 5, powerCuts: 0, flips: 0 },
    },
    plant: () =>
      replace(GroupCoordinator.prototype, 'elected', original => {
        return function (this: GroupCoordinator, partition: number, log: CoordinatorLog) {
          const hasty: CoordinatorLog = {
            append: (records, now) => {
              for (const record of records) this.machine(partition)?.apply(record)
              return log.append(records, now)
            },
            get highWatermark() {
              return log.highWatermark
            },
            onHighWatermark: listener => log.onHighWatermark(listener),
            replay: visit => log.replay(visit),
          }
          original.call(this, partition, hasty)
        }
      }),
  },
]
