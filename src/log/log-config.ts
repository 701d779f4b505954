/**
 * The settings of one partition's log, as plain numbers, with Kafka's defaults (`LogConfig`). Where they come from, and
 * their names and limits as topic configs, is the broker's business.
 */

import { DEFAULT_DECOMPRESSED_LIMIT } from '../records/batch-reader.ts'
import type { CodecName } from '../records/compression.ts'

/** A value from here on means "no limit": Kafka's default of 2^63 − 1 does not fit a number. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER

/** Times are in milliseconds. */
export interface LogConfig {
  /** `segment.bytes`: a segment that would grow beyond it is rolled. */
  segmentBytes: number
  /** `segment.ms`: a segment is rolled when a record is that much newer than its first. */
  segmentMs: number
  /** `index.interval.bytes`: one entry in the indexes per so many bytes. */
  indexIntervalBytes: number
  /** `max.message.bytes`: the largest batch, compressed and with its header. */
  maxMessageBytes: number
  /** `retention.ms`; −1 for ever. */
  retentionMs: number
  /** `retention.bytes`; −1 for no limit. */
  retentionBytes: number
  /** `cleanup.policy` has `compact`: records need keys. */
  compact: boolean
  /** `cleanup.policy` has `delete`: retention applies. */
  delete: boolean
  /** `min.cleanable.dirty.ratio`: a log is cleaned when more than that part of it is dirty. */
  minCleanableRatio: number
  /** `min.compaction.lag.ms`: records are left alone by the cleaner for so long. */
  minCompactionLagMs: number
  /** `max.compaction.lag.ms`: a log is cleaned, whatever its ratio is, when it has dirty records older than that. */
  maxCompactionLagMs: number
  /** `delete.retention.ms`: how long tombstones stay once they were cleaned. */
  deleteRetentionMs: number
  /** `flush.messages`: the log is flushed when so many records are not on the disk yet; with 1 whoever writes waits for it. */
  flushMessages: number
  /** `flush.ms`: the log is flushed when a record is not on the disk for so long. */
  flushMs: number
  /** `compression.type`; `producer` keeps batches as they were sent. */
  compressionType: 'producer' | 'uncompressed' | Exclude<CodecName, 'none'>
  /** `message.timestamp.type`. */
  messageTimestampType: 'CreateTime' | 'LogAppendTime'
  /** `message.timestamp.before.max.ms`: how far behind now a record's time may lie. */
  messageTimestampBeforeMaxMs: number
  /** `message.timestamp.after.max.ms`: how far ahead of now it may lie. */
  messageTimestampAfterMaxMs: number
  /** `file.delete.delay.ms`: a segment's file goes that long after the segment. */
  fileDeleteDelayMs: number
  /** `producer.id.expiration.ms`: an idempotent producer is forgotten that long after its last record. */
  producerIdExpirationMs: number
  /** Whether records are looked at one by one, compressed ones too. Without it keys and timestamps go unchecked. */
  validateRecords: boolean
  /** How many bytes the records of one batch may take when decompressed. */
  maxDecompressedBytes: number
}

/** Kafka's defaults. */
export const DEFAULT_LOG_CONFIG: Readonly<LogConfig> = {
  segmentBytes: 1024 * 1024 * 1024,
  segmentMs: 7 * 24 * 60 * 60 * 1000,
  indexIntervalBytes: 4096,
  maxMessageBytes: 1024 * 1024 + 12,
  retentionMs: 7 * 24 * 60 * 60 * 1000,
  retentionBytes: -1,
  compact: false,
  delete: true,
  minCleanableRatio: 0.5,
  minCompactionLagMs: 0,
  maxCompactionLagMs: UNLIMITED,
  deleteRetentionMs: 24 * 60 * 60 * 1000,
  flushMessages: UNLIMITED,
  flushMs: UNLIMITED,
  compressionType: 'producer',
  messageTimestampType: 'CreateTime',
  messageTimestampBeforeMaxMs: UNLIMITED,
  messageTimestampAfterMaxMs: 60 * 60 * 1000,
  fileDeleteDelayMs: 60 * 1000,
  producerIdExpirationMs: 24 * 60 * 60 * 1000,
  validateRecords: true,
  maxDecompressedBytes: DEFAULT_DECOMPRESSED_LIMIT,
}
