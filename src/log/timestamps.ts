/**
 * Finds offsets by time, for ListOffsets (Kafka's `UnifiedLog.fetchOffsetByTimestamp` and `LogSegment.findOffsetByTimestamp`). Record
 * times need not grow with offsets, so "the first record at or after a time" is the first in the order of offsets.
 */

import { readBatchHeader } from '../records/batch-header.ts'
import { eachRecord } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Segment } from './segment.ts'
import type { Segments } from './segments.ts'

export interface TimestampOffset {
  /** That of the record, in milliseconds. */
  timestamp: number
  offset: number
  /** The epoch in which it was written. */
  leaderEpoch: number
}

/** The first record at `timestamp` or later that is not below `fromOffset`. */
export function findTimestamp(
  segments: Segments,
  timestamp: number,
  fromOffset: number,
  platform: RecordsPlatform,
): TimestampOffset | undefined {
  for (let index = segments.floor(fromOffset); index < segments.count; index++) {
    const found = findIn(segments.at(index), timestamp, fromOffset, platform)
    if (found) return found
  }
  return undefined
}

function findIn(
  segment: Segment,
  timestamp: number,
  fromOffset: number,
  platform: RecordsPlatform,
): TimestampOffset | undefined {
  let position = segment.positionOfTimestamp(timestamp, fromOffset)
  while (position !== undefined) {
    const bytes = segment.batchAt(position)
    for (const record of eachRecord(bytes, 0, platform)) {
      if (record.timestamp < timestamp || record.offset < fromOffset) continue
      return {
        timestamp: record.timestamp,
        offset: record.offset,
        leaderEpoch: readBatchHeader(bytes, 0).partitionLeaderEpoch,
      }
    }
    position = segment.nextPositionOfTimestamp(timestamp, fromOffset, position)
  }
  return undefined
}

/** The first record that has the largest time of all that are not below `fromOffset`; undefined when none has a time. */
export function findMaxTimestamp(
  segments: Segments,
  fromOffset: number,
  platform: RecordsPlatform,
): TimestampOffset | undefined {
  const first = segments.floor(fromOffset)
  // What the first segment has below `fromOffset` does not count: its maximum may be there.
  const maxima = segments.all().map((segment, index) => {
    if (index < first) return -1
    return index === first ? maxTimestampFrom(segment, fromOffset, platform) : segment.maxTimestamp
  })
  const max = maxima.reduce((largest, each) => Math.max(largest, each), -1)
  return max < 0 ? undefined : findIn(segments.at(maxima.indexOf(max)), max, fromOffset, platform)
}

function maxTimestampFrom(segment: Segment, fromOffset: number, platform: RecordsPlatform): number {
  // The maximum stands for all of the segment, unless it may be that of something before.
  if (fromOffset <= segment.baseOffset || segment.maxTimestamp < 0) return segment.maxTimestamp
  let max = -1
  for (let position = segment.positionOf(fromOffset); position < segment.size; position += segment.sizeAt(position)) {
    const bytes = segment.batchAt(position)
    const batch = readBatchHeader(bytes, 0)
    if (batch.baseOffset >= fromOffset) max = Math.max(max, batch.maxTimestamp)
    else {
      for (const record of eachRecord(bytes, 0, platform)) {
        if (record.offset >= fromOffset) max = Math.max(max, record.timestamp)
      }
    }
  }
  return max
}
