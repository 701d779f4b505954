import type { CleanerConfig } from '../../log/cleaner/log-cleaner.ts'
import { type LogConfig, UNLIMITED } from '../../log/log-config.ts'
import { DEFAULT_DECOMPRESSED_LIMIT } from '../../records/batch-reader.ts'
import type { BrokerConfig } from './broker-config.ts'
import type { TopicConfig } from './topic-config.ts'

/** What a partition's log obeys, read from the configs of its topic. */
export function logConfigOf(topic: TopicConfig, broker: BrokerConfig): LogConfig {
  const policies = topic.list('cleanup.policy')
  const isCompacted = policies.includes('compact')
  const maxCompactionLagMs = topic.number('max.compaction.lag.ms')
  return {
    segmentBytes:
      topic.text('internal.segment.bytes') === null
        ? topic.number('segment.bytes')
        : topic.number('internal.segment.bytes'),
    // Only a segment that was rolled can be cleaned in time.
    segmentMs: Math.min(topic.number('segment.ms'), isCompacted ? maxCompactionLagMs : UNLIMITED),
    indexIntervalBytes: topic.number('index.interval.bytes'),
    maxMessageBytes: topic.number('max.message.bytes'),
    retentionMs: topic.number('retention.ms'),
    retentionBytes: topic.number('retention.bytes'),
    compact: isCompacted,
    delete: policies.includes('delete'),
    minCleanableRatio: topic.number('min.cleanable.dirty.ratio'),
    minCompactionLagMs: topic.number('min.compaction.lag.ms'),
    maxCompactionLagMs,
    deleteRetentionMs: topic.number('delete.retention.ms'),
    flushMessages: topic.number('flush.messages'),
    flushMs: topic.number('flush.ms'),
    compressionType: topic.text('compression.type') as LogConfig['compressionType'],
    messageTimestampType: topic.text('message.timestamp.type') as LogConfig['messageTimestampType'],
    messageTimestampBeforeMaxMs: topic.number('message.timestamp.before.max.ms'),
    messageTimestampAfterMaxMs: topic.number('message.timestamp.after.max.ms'),
    fileDeleteDelayMs: topic.number('file.delete.delay.ms'),
    producerIdExpirationMs: broker.number('producer.id.expiration.ms'),
    validateRecords: true,
    // Kafka looks at records as they come out of the codec; here they all come out first, so there is a bound of our own.
    maxDecompressedBytes: Math.min(topic.number('max.decompressed.message.bytes'), DEFAULT_DECOMPRESSED_LIMIT),
  }
}

/** What the cleaner of a broker obeys. */
export function cleanerConfigOf(broker: BrokerConfig): CleanerConfig {
  return {
    // Kafka's thread count may be changed to 0, which stops it; here there is one cleaner or none.
    isEnabled: broker.boolean('log.cleaner.enable') && broker.number('log.cleaner.threads') > 0,
    backoffMs: broker.number('log.cleaner.backoff.ms'),
    dedupeBufferSize: broker.number('log.cleaner.dedupe.buffer.size'),
    loadFactor: broker.number('log.cleaner.io.buffer.load.factor'),
    maxBytesPerSecond: broker.number('log.cleaner.io.max.bytes.per.second'),
  }
}
