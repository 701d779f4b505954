import type { CoordinatorRecord } from '../coordinator/ports.ts'
import type { Log } from '../log/log.ts'
import { batchSize, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { concat } from '../util/byte-writer.ts'

const READ_BYTES = 1024 * 1024

/** Visits the records of a log that a coordinator or the controller wrote, in order, from an offset on or all. Control batches are left out. */
export function replayLog(
  log: Log,
  platform: RecordsPlatform,
  visit: (record: CoordinatorRecord, offset: number) => void,
  from = 0,
): void {
  let offset = Math.max(from, log.logStartOffset)
  while (offset < log.logEndOffset) {
    const read = log.read(offset, { maxBytes: READ_BYTES, minOneBatch: true, isolation: 'log_end' })
    if (read.sizeInBytes === 0) return
    const bytes = concat(read.parts)
    for (let at = 0; at < bytes.length; at += batchSize(bytes, at)) {
      const header = readBatchHeader(bytes, at)
      if (!header.isControl) {
        for (const record of readRecords(bytes, at, platform)) {
          if (record.key !== null && record.offset >= offset) visit(record as CoordinatorRecord, record.offset)
        }
      }
      offset = header.lastOffset + 1
    }
  }
}
