/**
 * Faults planted in replication, from outside, to see that the simulator finds them: methods of classes are replaced while a simulation runs.
 * Nothing in `src/` knows of them.
 */

import type { ReplicaFetchData } from '../../../src/broker/link.ts'
import { MetadataImage } from '../../../src/broker/metadata/image.ts'
import type { AppliedRecord } from '../../../src/broker/metadata/records.ts'
import { Partition } from '../../../src/broker/partition.ts'
import { Leadership } from '../../../src/broker/replication/leadership.ts'
import { MetadataLog } from '../../../src/cluster/metadata-log.ts'
import type { CleanableLog } from '../../../src/log/cleaner/cleanable-log.ts'
import { OffsetMap } from '../../../src/log/cleaner/offset-map.ts'
import { Log } from '../../../src/log/log.ts'
import type { WantedClusterPlan } from './cluster-plan.ts'

export interface PlantedReplicationFault {
  readonly name: string
  /** The cluster and the faults of nature in which it can show. */
  readonly plan: WantedClusterPlan
  /** Plants it; the function returned takes it out. */
  readonly plant: () => () => void
}

function replace<T extends object, K extends keyof T>(owner: T, name: K, make: (original: T[K]) => T[K]): () => void {
  const original = owner[name]
  owner[name] = make(original)
  return () => {
    owner[name] = original
  }
}

const STORMY: WantedClusterPlan = { unclean: false, faults: { kills: 4, isolations: 3, linkCuts: 4 } }

export const PLANTED_REPLICATION: readonly PlantedReplicationFault[] = [
  {
    name: 'lets the high watermark pass what followers lack',
    plan: STORMY,
    plant: () =>
      replace(Leadership.prototype, 'highWatermark', () => leader => {
        return leader.logEndOffset
      }),
  },
  {
    name: 'does not cut off what a new leader lacks',
    plan: STORMY,
    plant: () => replace(Partition.prototype, 'divergence', () => () => undefined),
  },
  {
    name: 'does not raise the epoch with a new leader',
    plan: STORMY,
    plant: () =>
      replace(MetadataImage.prototype, 'apply', original => {
        return function (this: MetadataImage, record: AppliedRecord) {
          const before =
            record.type === 'partition' && this.topicsById.get(record.topicId)?.partitions[record.partitionId]
          original.call(this, before ? { ...record, leaderEpoch: before.leaderEpoch } : record)
        }
      }),
  },
  {
    name: 'takes a follower for in sync before it has caught up',
    plan: STORMY,
    plant: () =>
      replace(Leadership.prototype, 'grown', original => {
        return function (this: Leadership, id, leader, isEligible) {
          return original.call(this, id, { ...leader, highWatermark: -1 }, isEligible)
        }
      }),
  },
  {
    name: 'takes followers for gone before the controller agrees, as an old leader must not',
    plan: STORMY,
    plant: () => {
      const original = Object.getOwnPropertyDescriptor(Leadership.prototype, 'maximalIsr') as PropertyDescriptor
      Object.defineProperty(Leadership.prototype, 'maximalIsr', {
        ...original,
        get(this: Leadership) {
          return this.proposed ?? original.get?.call(this)
        },
      })
      return () => Object.defineProperty(Leadership.prototype, 'maximalIsr', original)
    },
  },
  {
    name: 'takes replicas that are being added for in sync',
    plan: { unclean: false, faults: { reassignments: 12, kills: 2, slowLinks: 3 } },
    plant: () =>
      replace(MetadataImage.prototype, 'apply', original => {
        return function (this: MetadataImage, record: AppliedRecord) {
          if (record.type !== 'partition' || record.addingReplicas.length === 0) return original.call(this, record)
          const isr = [...new Set([...record.isr, ...record.addingReplicas])]
          original.call(this, { ...record, isr })
        }
      }),
  },
  {
    name: 'says that records are deleted which followers have',
    plan: { storage: 'disk', unclean: false, faults: { deletions: 15, kills: 4, slowLinks: 3 } },
    plant: () =>
      replace(Leadership.prototype, 'lowWatermark', () => logStartOffset => {
        return logStartOffset
      }),
  },
  {
    name: 'does not follow where the log of its leader begins',
    plan: { unclean: false, faults: { deletions: 10 } },
    plant: () =>
      replace(Partition.prototype, 'appendAsFollower', original => {
        return function (this: Partition, data: ReplicaFetchData) {
          original.call(this, { ...data, logStartOffset: 0 })
        }
      }),
  },
  {
    name: 'acts on decisions that are not on the disk of the controller',
    plan: { storage: 'disk', unclean: false, faults: { clusterPowerCuts: 6, reassignments: 15, elections: 6 } },
    plant: () => {
      const original = Object.getOwnPropertyDescriptor(MetadataLog.prototype, 'highWatermark') as PropertyDescriptor
      Object.defineProperty(MetadataLog.prototype, 'highWatermark', {
        ...original,
        get: () => Number.MAX_SAFE_INTEGER,
      })
      return () => Object.defineProperty(MetadataLog.prototype, 'highWatermark', original)
    },
  },
  {
    name: 'cleans away the last record of a key',
    plan: { unclean: false, compacts: true },
    plant: () =>
      replace(OffsetMap.prototype, 'get', original => {
        return function (this: OffsetMap, bytes, start, end) {
          const offset = original.call(this, bytes, start, end)
          return offset >= 0 && offset % 7 === 0 ? offset + 1 : offset
        }
      }),
  },
  {
    name: 'cleans by what is not replicated',
    plan: { unclean: false, compacts: true, storage: 'memory', faults: { isolations: 6, linkCuts: 8 } },
    plant: () => {
      const original = Object.getOwnPropertyDescriptor(Log.prototype, 'cleanable') as PropertyDescriptor
      Object.defineProperty(Log.prototype, 'cleanable', {
        ...original,
        get(this: Log) {
          const cleanable: CleanableLog = original.get?.call(this)
          const bounds = () => ({ ...cleanable.bounds(), lastStableOffset: this.logEndOffset })
          return { ...cleanable, bounds }
        },
      })
      return () => Object.defineProperty(Log.prototype, 'cleanable', original)
    },
  },
]
