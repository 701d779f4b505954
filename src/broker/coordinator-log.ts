import type { CoordinatorLog } from '../coordinator/ports.ts'
import { buildBatch } from '../records/batch-builder.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Partition } from './partition.ts'
import { replayLog } from './replay-log.ts'

/**
 * A partition as a coordinator's log: records in, one batch for each decision, and all of them out again to load from
 * (`CoordinatorPartitionWriter`, `CoordinatorLoaderImpl`).
 */
export function coordinatorLog(partition: Partition, platform: RecordsPlatform): CoordinatorLog {
  return {
    append(records, now) {
      const batch = buildBatch({
        records: records.map(({ key, value }) => ({ key, value, timestamp: now })),
        crc32c: platform.crc32c,
      })
      return partition.append(batch, { now, origin: 'coordinator', requiredAcks: -1 }).lastOffset + 1
    },
    get highWatermark() {
      return partition.highWatermark
    },
    onHighWatermark: listener => partition.onHighWatermark(listener),
    replay: visit => replayLog(partition.log, platform, visit),
  }
}
