import type { LogConfig } from '../../log/log-config.ts'
import { DEFAULT_DECOMPRESSED_LIMIT } from '../../records/batch-reader.ts'
import type { BrokerConfig } from './broker-config.ts'
import type { TopicConfig } from './topic-config.ts'

/** What a partition's log obeys, read from the configs of its topic. */
export function logConfigOf(topic: TopicConfig, broker: BrokerConfig): LogConfig {
  const policies = topic.list('cleanup.policy')
  return {
    segmentBytes: topic.number(
      topic.text('internal.segment.bytes') === null ? 'segment.bytes' : 'internal.segment.bytes',
    ),
    segmentMs: topic.number('segment.ms'),
    indexIntervalBytes: topic.number('index.interval.bytes'),
    maxMessageBytes: topic.number('max.message.bytes'),
    retentionMs: topic.number('retention.ms'),
    retentionBytes: topic.number('retention.bytes'),
    compact: policies.includes('compact'),
    delete: policies.includes('delete'),
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
