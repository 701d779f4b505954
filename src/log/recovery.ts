/**
 * Brings a log's state back from its files: reads every batch header, drops what a crash left half written, and learns
 * leader epochs, producers and transactions anew (Kafka's `LogLoader` and `LogSegment.recover`).
 */

import { BATCH_OVERHEAD, type BatchHeader, checkBatch, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { type EndTransactionMarker, readEndTransactionMarker } from '../records/control.ts'
import { RecordsError } from '../records/records-error.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { AbortedTransactions } from './aborted-transactions.ts'
import type { LeaderEpochs } from './leader-epochs.ts'
import type { LogConfig } from './log-config.ts'
import type { ProducerStates } from './producer-state.ts'
import type { Segment } from './segment.ts'
import { baseOffsetOf, DELETED_SUFFIX, type Segments } from './segments.ts'

/** What the batches of a log add up to, apart from their bytes. */
export interface BatchEffects {
  epochs: LeaderEpochs
  producers: ProducerStates
  aborted: AbortedTransactions
}

/** Takes a batch that is in the log into the state of producers and transactions. */
export function applyBatch(batch: BatchHeader, marker: EndTransactionMarker | undefined, effects: BatchEffects): void {
  const { producers, aborted } = effects
  if (batch.producerId < 0) return
  if (!batch.isControl) return producers.applyData(batch)
  if (marker === undefined) return
  const completed = producers.applyMarker(batch, marker)
  if (completed === undefined) return
  if (completed.isAborted) {
    const { producerId, firstOffset, lastOffset } = completed
    const lastStableOffset = producers.transactions.lastStableOffsetAfter(completed)
    aborted.append({ producerId, firstOffset, lastOffset, lastStableOffset })
  }
  producers.transactions.complete(completed)
}

/** The marker in a control batch; undefined when it holds another control record, or none since it was compacted. */
export function markerOf(
  bytes: Uint8Array,
  at: number,
  batch: BatchHeader,
  platform: RecordsPlatform,
): EndTransactionMarker | undefined {
  if (!batch.isControl || batch.recordsCount <= 0) return undefined
  const [record] = readRecords(bytes, at, platform)
  return readEndTransactionMarker(record.key, record.value)
}

/** What {@link recoverSegments} works on. */
export interface RecoveryOptions {
  storage: Storage
  directory: string
  config: LogConfig
  env: Env
  platform: RecordsPlatform
  /** Segments that end before it were synced to disk, so that their checksums need not be looked at. */
  recoveryPoint: number
}

/** Opens all segments there are; returns the log end offset. Leaves no segment when there was none. */
export function recoverSegments(segments: Segments, effects: BatchEffects, options: RecoveryOptions): number {
  const { storage, directory, config, env, recoveryPoint } = options
  const names = storage.list(directory)
  for (const name of names) if (name.endsWith(DELETED_SUFFIX)) storage.remove(`${directory}/${name}`)
  const baseOffsets = names.map(baseOffsetOf).filter(offset => offset !== undefined)
  let endOffset = baseOffsets[0] ?? 0
  for (const [index, baseOffset] of baseOffsets.entries()) {
    const segment = segments.add(baseOffset, config)
    const next = baseOffsets[index + 1]
    const checksums = next === undefined || next > recoveryPoint
    const end = recoverSegment(segment, Math.max(endOffset, baseOffset), checksums, effects, options)
    if (end.broken !== undefined) {
      const path = segment.file.path
      env.log('warn', 'a segment is broken: the log ends there', { path, bytes: end.dropped, reason: end.broken })
      for (const later of baseOffsets.slice(index + 1)) segments.add(later, config)
      segments.remove(index + 1, baseOffsets.length - index - 1, 0)
      return end.offset
    }
    endOffset = end.offset
  }
  return endOffset
}

interface SegmentEnd {
  offset: number
  dropped: number
  broken?: string
}

function recoverSegment(
  segment: Segment,
  fromOffset: number,
  checksums: boolean,
  effects: BatchEffects,
  options: RecoveryOptions,
): SegmentEnd {
  const { size } = segment
  let offset = fromOffset
  let position = 0
  try {
    while (position < size) {
      const bytes = wholeBatchAt(segment, position, size)
      if (checksums) checkBatch(bytes, 0, options.platform.crc32c)
      const batch = readBatchHeader(bytes, 0)
      if (batch.baseOffset < offset || batch.lastOffset < batch.baseOffset) {
        throw new RecordsError('CORRUPT_MESSAGE', `offset ${batch.baseOffset} where ${offset} is next`)
      }
      segment.index(batch.baseOffset, batch.maxTimestamp, position, bytes.length)
      applyRecovered(batch, bytes, effects, options.platform)
      offset = batch.lastOffset + 1
      position += bytes.length
    }
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error
    segment.file.truncate(position)
    return { offset, dropped: size - position, broken: error.message }
  }
  return { offset, dropped: 0 }
}

function applyRecovered(batch: BatchHeader, bytes: Uint8Array, effects: BatchEffects, platform: RecordsPlatform): void {
  const { epochs } = effects
  // An epoch that the checkpoint knows began where the checkpoint says, which may be before its first batch.
  const isKnown = epochs.entries.some(
    ({ epoch, startOffset }) => epoch === batch.partitionLeaderEpoch && startOffset <= batch.baseOffset,
  )
  if (batch.partitionLeaderEpoch >= 0 && !isKnown) epochs.assign(batch.partitionLeaderEpoch, batch.baseOffset)
  applyBatch(batch, markerOf(bytes, 0, batch, platform), effects)
}

function wholeBatchAt(segment: Segment, position: number, end: number): Uint8Array {
  if (end - position < BATCH_OVERHEAD) throw new RecordsError('CORRUPT_MESSAGE', 'a batch is cut off')
  const size = segment.sizeAt(position)
  if (size < BATCH_OVERHEAD || size > end - position) {
    throw new RecordsError('CORRUPT_MESSAGE', `a batch of ${size} bytes, ${end - position} remain`)
  }
  return segment.batchAt(position)
}

/** Learns producers and transactions anew from the segments, after some of them were cut off. */
export function replayProducers(segments: Segments, effects: BatchEffects, platform: RecordsPlatform): void {
  const { producers, aborted } = effects
  const before = producers.before(segments.first.baseOffset)
  producers.clear()
  aborted.clear()
  for (const producer of before) producers.restore(producer)
  for (const segment of segments.all()) {
    for (let position = 0; position < segment.size; ) {
      const bytes = segment.batchAt(position)
      const batch = readBatchHeader(bytes, 0)
      applyBatch(batch, markerOf(bytes, 0, batch, platform), effects)
      position += bytes.length
    }
  }
}
