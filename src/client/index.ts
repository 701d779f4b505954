/**
 * `ottla/client`: a small Kafka client without sockets. Bytes go through a {@link Transport}, time and chance come from an
 * `Env`, and every answer is a `Later` of a {@link Result}: nothing is thrown after a call, nothing is a promise. It knows
 * nothing of Ottla's broker and speaks to any Kafka.
 *
 * Whoever calls it from outside ends what they do with `env.turns.drain()`, as the transport and the timers do: only then do
 * answers reach their listeners. A promise of an answer is made at that border:
 * `new Promise(resolve => { later.whenSettled(resolve); env.turns.drain() })`.
 *
 * @example
 * import { KafkaClient, Producer } from 'ottla/client'
 *
 * const client = new KafkaClient({ env, transport, bootstrap: [{ host: '127.0.0.1', port: 9092 }], platform })
 * const producer = new Producer(client)
 * producer.send({ topic: 'orders', value: new Uint8Array([1]) }).whenSettled(result => {
 *   console.log(result.ok ? result.value.offset : result.error.code)
 * })
 */

export type { Assignor, TopicPartition } from '../core/assignors/assignor.ts'
export { assignors } from '../core/assignors/index.ts'
export type { RecordHeader } from '../records/batch-builder.ts'
export type { RecordData } from '../records/batch-reader.ts'
export { type CodecName, type Compression, PURE_PLATFORM, type RecordsPlatform } from '../records/compression.ts'
export type { Env } from '../util/env.ts'
export { Later } from '../util/later.ts'
export { Turns } from '../util/turns.ts'
export { VirtualEnv } from '../util/virtual-env.ts'
export * from './admin.ts'
export type { OffsetReset } from './assigned-partition.ts'
export { type ClientRequestOptions, type CoordinatorType, KafkaClient } from './client.ts'
export type { Body, RequestOptions } from './connection.ts'
export { Consumer, type ConsumerOptions, type ConsumerRecord } from './consumer.ts'
export { GroupConsumer, type GroupConsumerOptions } from './group-consumer.ts'
export { type GroupListener, GroupMember, type GroupMemberOptions, type MemberStatus } from './group-member.ts'
export {
  EARLIEST,
  findOffsets,
  type IsolationLevel,
  LATEST,
  MAX_TIMESTAMP,
  type OffsetAndTimestamp,
  type OffsetQuery,
} from './list-offsets.ts'
export type { Broker, MetadataCache, Partition, Topic } from './metadata-cache.ts'
export { type CommittedOffset, commitOffsets, committedOffsets, type OffsetToCommit } from './offsets.ts'
export type { KafkaClientOptions } from './options.ts'
export { javaPartitioner, type Partitioner } from './partitioner.ts'
export type { Address } from './pool.ts'
export type { RecordMetadata } from './produce-queue.ts'
export { Producer, type ProducerOptions, type ProducerRecord } from './producer.ts'
export { ClientError, type ClientErrorCode, DONE, type Failure, fail, ok, type Result } from './result.ts'
export { all, runTask, type Task, until } from './task.ts'
export type { Channel, ChannelEvents, Transport } from './transport.ts'
export type { MaxVersions } from './versions.ts'
