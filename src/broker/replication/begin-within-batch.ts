import type { Log } from '../../log/log.ts'
import { readBatchHeader } from '../../records/batch-header.ts'

/**
 * DeleteRecords may let a leader's log begin in the middle of a batch. A follower whose log is empty begins at that offset, too, and is sent the whole
 * batch, which begins before it. So its log has to begin with the batch; the leader's log start offset comes along, and moves it up
 * again (`Partition.appendRecordsToFollowerOrFutureReplica`). Of a log that has records this is none's business: they would be others.
 */
export function beginWithinBatch(log: Log, records: Uint8Array): void {
  const { logStartOffset, logEndOffset } = log
  if (logStartOffset !== logEndOffset) return
  const { baseOffset, lastOffset } = readBatchHeader(records, 0)
  if (baseOffset < logEndOffset && lastOffset >= logEndOffset) log.truncateFullyAndStartAt(baseOffset)
}
