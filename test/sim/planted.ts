/**
 * Faults planted in the broker or below it, from outside, to see that the simulator finds them: by replacing methods of classes while
 * a simulation runs, or by a file system that lies. Nothing in `src/` knows of them.
 */

import { assignors } from '../../src/client/index.ts'
import { GroupCoordinator } from '../../src/coordinator/group/group-coordinator.ts'
import type { CoordinatorLog } from '../../src/coordinator/ports.ts'
import { BatchScanner } from '../../src/log/batch-scanner.ts'
import { CLEAN_SHUTDOWN_FILE } from '../../src/log/root-files.ts'
import { RecordsError } from '../../src/records/records-error.ts'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import type { FileId, FileSystem, FileSystemFailure } from '../../src/storage/file-system.ts'
import { Later } from '../../src/util/later.ts'
import { DUPLICATE, EARLY_WATERMARK } from '../property/planted.ts'
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
    plant: EARLY_WATERMARK.plant,
  },
  {
    name: 'applies before it appends',
    plan: {
      storage: 'disk',
      administers: false,
      groups: [{ id: 'g', topics: ['t1'], members: 3, assignor: assignors[0] }],
      faults: { fullDisks: 10, kills: 8, powerCuts: 0, flips: 0, diskErrors: 0, stops: 0 },
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
  {
    name: 'takes a torn tail for the end of the log and leaves it there',
    plan: { storage: 'disk', faults: { kills: 6, powerCuts: 4, flips: 0, diskErrors: 0, fullDisks: 0 } },
    plant: () =>
      replace(BatchScanner.prototype, 'next', original => {
        return function (this: BatchScanner) {
          try {
            return original.call(this)
          } catch (error) {
            if (error instanceof RecordsError) return false
            throw error
          }
        }
      }),
  },
  {
    name: 'appends a batch again that was sent again',
    plan: { faults: { resets: 30, cutOffs: 3, flips: 0 } },
    plant: DUPLICATE.plant,
  },
  {
    name: 'leaves the mark of a good stop behind',
    plan: { storage: 'disk', faults: { stops: 3, kills: 4, powerCuts: 0, flips: 0, diskErrors: 0, fullDisks: 0 } },
    plant: () =>
      replace(DiskStorage.prototype, 'remove', original => {
        return function (this: DiskStorage, path: string) {
          return original.call(this, path === CLEAN_SHUTDOWN_FILE ? 'nothing' : path)
        }
      }),
  },
]
