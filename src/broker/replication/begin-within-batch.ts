import type { Log } from '../../log/log.ts'
import { readBatchHeader } from '../../records/batch-header.ts'

/**
 * DeleteRecords may let a leader's log begin in the middle of a batch. A follower whose log ends at that offset is sent the whole batch,
 * which begins before it. So its log has to begin anew with the batch; the leader's log start offset comes along, and moves it up again
 * (`Partition.appendRecordsToFollowerOrFutureReplica`). Kafka does so where the follower's log is empty. Where it has records they are all
 * deleted at the leader, and may be others than those were: a log of another history is cut no further down than where the leader's
 * begins, since of what lies before no leader knows the epochs any more.
 */
export function beginWithinBatch(log: Log, records: Uint8Array, leaderStartOffset: number): void {
  const { logStartOffset, logEndOffset } = log
  if (logStartOffset !== logEndOffset && leaderStartOffset < logEndOffset) return
  const { baseOffset, lastOffset } = readBatchHeader(records, 0)
  if (baseOffset < logEndOffset && lastOffset >= logEndOffset) log.truncateFullyAndStartAt(baseOffset)
}
