/** What the log says of an append (Kafka's `LogAppendInfo`): for the answer to a producer, and for those who wait. */

import type { PreparedAppend } from './leader-append.ts'
import type { ProducerBatch } from './producer-state.ts'

export interface AppendResult {
  firstOffset: number
  lastOffset: number
  lastLeaderEpoch: number
  /** In milliseconds; −1 unless the topic has LogAppendTime. For a duplicate the maximum timestamp of its batch. */
  logAppendTime: number
  maxTimestamp: number
  /** The last offset of the first batch that has the largest time. */
  shallowOffsetOfMaxTimestamp: number
  /** Nothing was appended: the producer sent one of its last five batches again. Offsets are those it got then. */
  duplicate: boolean
  /** Bytes appended. */
  sizeInBytes: number
  logStartOffset: number
}

export function appended(prepared: PreparedAppend, logStartOffset: number): AppendResult {
  const { batches, lastOffset, maxTimestamp, records } = prepared
  const last = batches[batches.length - 1].header
  const newest = batches.find(({ header }) => header.maxTimestamp === maxTimestamp)
  return {
    firstOffset: batches[0].header.baseOffset,
    lastOffset,
    lastLeaderEpoch: last.partitionLeaderEpoch,
    logAppendTime: last.timestampType === 'LogAppendTime' ? last.maxTimestamp : -1,
    maxTimestamp,
    shallowOffsetOfMaxTimestamp: newest?.header.lastOffset ?? -1,
    duplicate: false,
    sizeInBytes: records.length,
    logStartOffset,
  }
}

export function duplicated(batch: ProducerBatch, lastLeaderEpoch: number, logStartOffset: number): AppendResult {
  return {
    firstOffset: batch.firstOffset,
    lastOffset: batch.lastOffset,
    lastLeaderEpoch,
    logAppendTime: batch.timestamp,
    maxTimestamp: batch.timestamp,
    shallowOffsetOfMaxTimestamp: batch.lastOffset,
    duplicate: true,
    sizeInBytes: 0,
    logStartOffset,
  }
}

/** Two appends of which the second went on where the first ended. */
export function joined(first: AppendResult | undefined, second: AppendResult): AppendResult {
  if (first === undefined) return second
  const newest = second.maxTimestamp > first.maxTimestamp ? second : first
  return {
    ...second,
    firstOffset: first.firstOffset,
    maxTimestamp: newest.maxTimestamp,
    shallowOffsetOfMaxTimestamp: newest.shallowOffsetOfMaxTimestamp,
    sizeInBytes: first.sizeInBytes + second.sizeInBytes,
  }
}
