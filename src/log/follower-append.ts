/**
 * What a follower demands of batches that its leader wrote: that they are whole and go on where its log ends. Offsets,
 * epochs and times are the leader's (Kafka's `UnifiedLog.appendAsFollower`).
 */

import { KafkaError } from '../protocol/errors.ts'
import { checkBatch, eachBatch, readBatchHeader } from '../records/batch-header.ts'
import type { AppendContext, PreparedAppend, PreparedBatch } from './leader-append.ts'
import { markerOf } from './log-state.ts'

/**
 * Reads the whole batches of `records`; a partial one behind them is left out. Returns them in portions that each fit
 * into a segment, as far as the size of single batches allows.
 *
 * @param leaderEpoch batches of a later epoch, and all behind them, are left out: their leader is another one
 * @throws {KafkaError} CORRUPT_MESSAGE, or OFFSET_OUT_OF_RANGE for offsets below the log end or in disorder
 */
export function prepareFollowerAppend(
  records: Uint8Array,
  context: AppendContext,
  leaderEpoch: number | undefined,
): PreparedAppend[] {
  const batches: PreparedBatch[] = []
  let nextOffset = context.logEndOffset
  let isForeign = false
  eachBatch(records, at => {
    if (isForeign) return
    checkBatch(records, at, context.platform.crc32c)
    const header = readBatchHeader(records, at)
    if (leaderEpoch !== undefined && header.partitionLeaderEpoch > leaderEpoch) {
      isForeign = true
      return
    }
    if (header.baseOffset < nextOffset || header.lastOffset < header.baseOffset) {
      throw new KafkaError(
        'OFFSET_OUT_OF_RANGE',
        `batch [${header.baseOffset}, ${header.lastOffset}] in the append to ${context.topicPartition} where ${nextOffset} is next`,
      )
    }
    nextOffset = header.lastOffset + 1
    batches.push({ header, at, marker: markerOf(records, at, header, context.platform) })
  })
  return portions(records, batches, context.config.segmentBytes)
}

function portions(records: Uint8Array, batches: PreparedBatch[], segmentBytes: number): PreparedAppend[] {
  const result: PreparedAppend[] = []
  let start = 0
  while (start < batches.length) {
    const from = batches[start].at
    let end = start + 1
    while (end < batches.length && batches[end].at + batches[end].header.sizeInBytes - from <= segmentBytes) end++
    const portion = batches.slice(start, end)
    const last = portion[portion.length - 1]
    result.push({
      records: records.subarray(from, last.at + last.header.sizeInBytes),
      batches: portion.map(batch => ({ ...batch, at: batch.at - from })),
      lastOffset: last.header.lastOffset,
      maxTimestamp: Math.max(...portion.map(({ header }) => header.maxTimestamp)),
    })
    start = end
  }
  return result
}
