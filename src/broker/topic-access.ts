import { javaPartition } from '../core/partitioners.ts'
import { KafkaError } from '../protocol/errors.ts'
import { buildBatch, type RecordHeader } from '../records/batch-builder.ts'
import { batchSize, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import { concat } from '../util/byte-writer.ts'
import type { Broker } from './broker.ts'
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

/**
 * The partitions of a topic, all led by this broker.
 *
 * @throws KafkaError when there is no such topic, or somebody else leads
 */
function ledPartitions(broker: Broker, topic: string): Partition[] {
  const image = broker.image.topicsByName.get(topic)
  if (image === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `there is no topic ${topic}`)
  const { topicId } = image
  return image.partitions.map(({ partitionId }) => broker.replicas.leaderById(topicId, partitionId))
}

/** How many records there are by their offsets, cheaply: markers of transactions count, too. */
export function countRecords(broker: Broker, topic: string): number {
  if (!broker.image.topicsByName.has(topic)) return 0
  // Logs that nobody asked for since the broker was restored are not open yet, and have records all the same.
  const logs = ledPartitions(broker, topic).map(({ log }) => log)
  return logs.reduce((sum, { highWatermark, logStartOffset }) => sum + highWatermark - logStartOffset, 0)
}

/** Everything in a topic up to the high watermarks, see {@link mergeByTime}. */
export function readTopic(broker: Broker, topic: string): TopicRecord[] {
  return mergeByTime(ledPartitions(broker, topic).map(partition => readPartition(broker, partition)))
}

/** The records of several partitions, merged by their times; those of one stay in their order. */
export function mergeByTime(partitions: readonly (readonly TopicRecord[])[]): TopicRecord[] {
  const at = partitions.map(() => 0)
  const records: TopicRecord[] = []
  for (;;) {
    let next = -1
    for (const [index, list] of partitions.entries()) {
      if (at[index] === list.length) continue
      if (next === -1 || list[at[index]].timestamp < partitions[next][at[next]].timestamp) next = index
    }
    if (next === -1) return records
    records.push(partitions[next][at[next]++])
  }
}

/** Everything in one partition up to its high watermark. */
export function readPartition({ platform }: Broker, { topic, index, log }: Partition): TopicRecord[] {
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
  return records
}

/** The partition that each of these records goes to. */
export function placesOf(records: readonly TopicRecordInput[], partitions: number): number[] {
  return records.map(({ partition, key }, index) => {
    return partition ?? (key === null ? index % partitions : javaPartition(key, partitions))
  })
}

/**
 * Appends records, one batch for each partition. Returns where each has gone, in their order.
 *
 * @throws KafkaError as a producer would be told
 */
export function appendToTopic(
  broker: Broker,
  topic: string,
  records: readonly TopicRecordInput[],
): { partition: number; offset: number }[] {
  const partitions = ledPartitions(broker, topic)
  const places = placesOf(records, partitions.length)
  const placed: { partition: number; offset: number }[] = []
  for (const index of new Set(places)) {
    const partition = partitions[index]
    if (partition === undefined) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
    const own = records.flatMap((record, at) => (places[at] === index ? [{ record, at }] : []))
    const baseOffset = appendToPartition(
      broker,
      partition,
      own.map(({ record }) => record),
    )
    for (const [order, { at }] of own.entries()) placed[at] = { partition: index, offset: baseOffset + order }
  }
  return placed
}

/** Appends records as one batch. Returns the offset of the first. */
export function appendToPartition(broker: Broker, partition: Partition, records: readonly TopicRecordInput[]): number {
  const now = broker.env.now()
  const batch = buildBatch({
    records: records.map(({ key, value, headers, timestamp = now }) => ({ key, value, headers, timestamp })),
    crc32c: broker.platform.crc32c,
  })
  const { lastOffset } = partition.append(batch, { now, origin: 'client', requiredAcks: -1 })
  return lastOffset - records.length + 1
}

/** Deletes every record, as DeleteRecords does: offsets go on. */
export function clearTopic(broker: Broker, topic: string): void {
  for (const partition of ledPartitions(broker, topic)) clearPartition(broker, partition)
}

export function clearPartition(broker: Broker, partition: Partition): void {
  partition.log.deleteRecordsBefore(partition.highWatermark)
  broker.purgatory.wake(partition.key)
}
