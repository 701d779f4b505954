import { javaPartition } from '../core/partitioners.ts'
import { KafkaError } from '../protocol/errors.ts'
import { buildBatch, type RecordHeader } from '../records/batch-builder.ts'
import { batchSize, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import { concat } from '../util/byte-writer.ts'
import type { Broker } from './broker.ts'
import type { MetadataImage } from './metadata/image.ts'
import type { Partition } from './partition.ts'

/**
 * The records of a topic for whoever has the broker at hand, such as a test: read, appended and cleared at the logs themselves,
 * without a request, so that no fault, no quota and no request log has to do with it. Clients see what comes of it as ever.
 */

/** One record with its place. */
export interface TopicRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** In milliseconds since 1970. */
  readonly timestamp: number
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: readonly RecordHeader[]
}

/** A record to be appended. */
export interface TopicRecordInput {
  /** By the hash of the key, as Java clients have it, or in turn, unless it is given. */
  readonly partition?: number
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  readonly headers: readonly RecordHeader[]
  /** Now, by the broker's clock, unless it is given. */
  readonly timestamp?: number
}

const READ_BYTES = 1024 * 1024

/** Several brokers: what there is by whom they believe, and who leads each partition of it. */
export interface Leaders {
  readonly image: MetadataImage
  /** @throws KafkaError when nobody leads that could be asked */
  leaderOf(topicId: string, partitionId: number): Broker
}

/** A partition at the broker that leads it. */
export interface LedPartition {
  readonly broker: Broker
  readonly partition: Partition
}

/**
 * The partitions of a topic: of the one broker that there is, or each at its leader.
 *
 * @throws KafkaError when there is no such topic, or somebody does not lead who should
 */
export function ledPartitions(brokers: Broker | Leaders, topic: string): LedPartition[] {
  const image = brokers.image.topicsByName.get(topic)
  if (image === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `there is no topic ${topic}`)
  const { topicId } = image
  return image.partitions.map(({ partitionId }) => {
    const broker = 'leaderOf' in brokers ? brokers.leaderOf(topicId, partitionId) : brokers
    return { broker, partition: broker.replicas.leaderById(topicId, partitionId) }
  })
}

/** How many records there are by their offsets, cheaply: markers of transactions count, too. */
export function countRecords(brokers: Broker | Leaders, topic: string): number {
  if (!brokers.image.topicsByName.has(topic)) return 0
  // Logs that nobody asked for since the broker was restored are not open yet, and have records all the same.
  const logs = ledPartitions(brokers, topic).map(({ partition }) => partition.log)
  return logs.reduce((sum, { highWatermark, logStartOffset }) => sum + highWatermark - logStartOffset, 0)
}

/** Everything in a topic up to the high watermarks: in the order of its partitions, which are merged by the times of the records. */
export function readTopic(brokers: Broker | Leaders, topic: string): TopicRecord[] {
  const lists = ledPartitions(brokers, topic).map(readPartition)
  const records: TopicRecord[] = []
  for (;;) {
    let next: TopicRecord[] | undefined
    for (const list of lists) {
      if (list.length > 0 && (next === undefined || list[list.length - 1].timestamp < next[next.length - 1].timestamp))
        next = list
    }
    if (next === undefined) return records
    records.push(next.pop() as TopicRecord)
  }
}

/** The records of one partition, the last first. */
function readPartition({ broker: { platform }, partition: { topic, index, log } }: LedPartition): TopicRecord[] {
  const records: TopicRecord[] = []
  for (let offset = log.logStartOffset; offset < log.highWatermark; ) {
    const read = log.read(offset, { maxBytes: READ_BYTES, minOneBatch: true, isolation: 'high_watermark' })
    if (read.sizeInBytes === 0) break
    const bytes = concat(read.parts)
    for (let at = 0; at < bytes.length; at += batchSize(bytes, at)) {
      const header = readBatchHeader(bytes, at)
      const from = offset
      offset = header.lastOffset + 1
      if (header.isControl) continue
      for (const record of readRecords(bytes, at, platform)) {
        if (record.offset < from) continue
        const { key, value, headers, timestamp } = record
        records.push({ topic, partition: index, offset: record.offset, timestamp, key, value, headers })
      }
    }
  }
  return records.reverse()
}

/**
 * Appends records, one batch for each partition. Returns where each has gone, in their order.
 *
 * @throws KafkaError as a producer would be told
 */
export function appendToTopic(
  brokers: Broker | Leaders,
  topic: string,
  records: readonly TopicRecordInput[],
): { partition: number; offset: number }[] {
  const partitions = ledPartitions(brokers, topic)
  const places = records.map(({ partition, key }, index) => {
    return partition ?? (key === null ? index % partitions.length : javaPartition(key, partitions.length))
  })
  const placed: { partition: number; offset: number }[] = []
  for (const index of new Set(places)) {
    const led = partitions[index]
    if (led === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    const { broker, partition } = led
    const now = broker.env.now()
    const own = records.flatMap((record, at) => (places[at] === index ? [{ record, at }] : []))
    const batch = buildBatch({
      records: own.map(({ record: { key, value, headers, timestamp = now } }) => ({ key, value, headers, timestamp })),
      crc32c: broker.platform.crc32c,
    })
    const { lastOffset } = partition.append(batch, { now, origin: 'client', requiredAcks: -1 })
    for (const [order, { at }] of own.entries())
      placed[at] = { partition: index, offset: lastOffset - own.length + 1 + order }
  }
  return placed
}

/** Deletes every record, as DeleteRecords does: offsets go on. */
export function clearTopic(brokers: Broker | Leaders, topic: string): void {
  for (const { broker, partition } of ledPartitions(brokers, topic)) {
    partition.log.deleteRecordsBefore(partition.highWatermark)
    broker.purgatory.wake(partition.key)
  }
}
