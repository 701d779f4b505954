import { replayLog } from '../broker/replay-log.ts'
import type { CoordinatorLog } from '../coordinator/ports.ts'
import { Log } from '../log/log.ts'
import { DEFAULT_LOG_CONFIG, UNLIMITED } from '../log/log-config.ts'
import { buildBatch } from '../records/batch-builder.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'

/** Where the controller keeps what it decided: a log like any other, of which there is one copy. */

const DIRECTORY = '__cluster_metadata-0'

export function openMetadataLog(options: { env: Env; storage: Storage; platform: RecordsPlatform }): CoordinatorLog {
  const { platform } = options
  const log = Log.open({
    ...options,
    directory: DIRECTORY,
    // When all room is used up, a topic must still be deletable.
    exempt: true,
    config: { ...DEFAULT_LOG_CONFIG, retentionMs: -1, delete: false, maxMessageBytes: UNLIMITED },
  })
  log.updateHighWatermark(log.logEndOffset)
  return {
    append(records, now) {
      const batch = buildBatch({
        records: records.map(({ key, value }) => ({ key, value, timestamp: now })),
        crc32c: platform.crc32c,
      })
      log.appendAsLeader(batch, { leaderEpoch: 0, now, origin: 'coordinator' })
      // One copy: what is appended is committed.
      log.updateHighWatermark(log.logEndOffset)
      return log.logEndOffset
    },
    get highWatermark() {
      return log.highWatermark
    },
    onHighWatermark: () => () => {},
    replay: visit => replayLog(log, platform, visit),
  }
}
