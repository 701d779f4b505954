// The model: Kafka's semantics in miniature, to read, to use in a browser or in unit tests, and to test the broker against. One process,
// synchronous, every call atomic, plain arrays and maps. It needs nothing but the language.

export {
  type Assignment,
  type AssignOptions,
  type AssignorName,
  assignPartitions,
  type TopicPartition,
  type TopicsAssignment,
} from './assign.ts'
export { compactedView } from './compaction.ts'
export { type AutoOffsetReset, ConsumerGroup, type PolledRec } from './consumer-group.ts'
export {
  InvalidProducerEpochError,
  NotAssignedError,
  NotEnoughReplicasError,
  NotLeaderError,
  OffsetOutOfRangeError,
  OutOfOrderSequenceError,
  RequestTimedOutError,
} from './errors.ts'
export { IdempotentProducer } from './idempotent-producer.ts'
export { type DeadLetter, type IngestOptions, ingest } from './ingest.ts'
export { type Comparison, type ComparisonRow, compareAssignors, movement } from './movement.ts'
export { type Headers, type NewRec, Partition, type Rec } from './partition.ts'
export { type Key, type Partitioner, partitionFor, partitionFor as partitionForKey } from './partitioner.ts'
export { type RedriveOptions, type RedriveReport, redrive } from './redrive.ts'
export { type Acks, ReplicatedPartition, type ReplicatedRec, type ReplicationOptions } from './replicated-partition.ts'
export { Topic, type TopicOptions, type TopicRecord } from './topic.ts'
export type { IngestRecord, StandardSchema, Validate } from './validate.ts'
