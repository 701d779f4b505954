/**
 * What a coordinator may ask of its surroundings: a log to append to, and the topics that its broker has heard of.
 * It is no implementation: the broker adapts its partitions and its metadata image to these, tests use doubles.
 * Follows the `PartitionWriter`, `CoordinatorLoader` and `MetadataImage` that Kafka's `CoordinatorRuntime` is given.
 */

/** One record of a coordinator's log: key and value with their version in front; a null value is a tombstone. */
export interface CoordinatorRecord {
  key: Uint8Array
  value: Uint8Array | null
}

/** One partition of `__consumer_offsets` (or another coordinator's topic) of which this broker is the leader. */
export interface CoordinatorLog {
  /**
   * Appends `records` as one atomic batch with `now` as their timestamp and returns the offset behind it (the log
   * end). Nothing is appended when it throws.
   *
   * @throws KafkaError as the log says it (NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, …); the runtime turns it into
   * what clients of a coordinator expect, see `append-errors.ts`.
   */
  append(records: readonly CoordinatorRecord[], now: number): number

  /** The offset below which everything is replicated as far as it has to be. */
  readonly highWatermark: number

  /** Calls `listener` each time the high watermark has moved; the function returned ends that. */
  onHighWatermark(listener: (highWatermark: number) => void): () => void

  /** Visits every record up to the log end, in order; records of transactions that were aborted are left out. */
  replay(visit: (record: CoordinatorRecord, offset: number) => void): void
}

/** A topic by its name or id, as the broker's metadata image has it now. */
export interface TopicsView {
  topicByName(name: string): { readonly topicId: string; readonly partitions: number } | undefined
  topicById(topicId: string): { readonly name: string; readonly partitions: number } | undefined
}
