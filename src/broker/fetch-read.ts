import type { fetch } from '../protocol/apis/fetch.ts'
import type { Encodable } from '../protocol/dsl.ts'
import { KafkaError } from '../protocol/errors.ts'
import type { Later } from '../util/later.ts'
import { ZERO_UUID } from '../util/uuid.ts'
import { availableBytes } from './available-bytes.ts'
import type { Broker } from './broker.ts'
import type { CachedTarget, FetchTarget } from './fetch-sessions.ts'
import type { RequestContext } from './handler.ts'
import { NO_LEADER_EPOCH, type Partition } from './partition.ts'
import { preferredReadReplica } from './replication/read-replica.ts'

/**
 * Reads what a fetch asks for, and waits until there is enough of it (`ReplicaManager.readFromLog`, `DelayedFetch`). The limits
 * are soft: the first partition with anything gives at least one whole batch, whatever its size (KIP-74).
 */

type ResponseTopic = NonNullable<Encodable<typeof fetch.response>['responses']>[number]
type PartitionData = { -readonly [Name in keyof PartitionDataIn]: PartitionDataIn[Name] }
type PartitionDataIn = NonNullable<ResponseTopic['partitions']>[number]

export interface FetchResult {
  readonly target: FetchTarget
  /** The name of the topic; undefined when there was no such partition, whatever is waited for. */
  readonly topic: string | undefined
  readonly data: PartitionData
  /** Bytes of records. */
  readonly bytes: number
  /** Bytes that count against the limits: Kafka sends a last batch cut off where the limit is, and counts it. */
  readonly counted: number
  /** Set when the partition was there to be read, even if reading failed. */
  readonly partition: Partition | undefined
}

export interface ReadOptions {
  readonly maxBytes: number
  readonly readCommitted: boolean
  /** Whether a follower may answer, up to the high watermark that it knows. */
  readonly fromFollowers: boolean
  /** Where the client is; empty when it does not say. */
  readonly rack: string
}

/** Reads all targets in order, until `maxBytes` are used up. */
export function readTargets(broker: Broker, targets: Iterable<FetchTarget>, options: ReadOptions): FetchResult[] {
  return readAll(broker, targets, options, target => {
    const topic = topicOf(broker, target)
    return typeof topic === 'string' ? topic : refused(target, undefined, topic.error, [])
  })
}

/** Reads again after a wait. What was not there before is not looked for again; what is gone since is told so. */
export function readAgain(broker: Broker, results: readonly FetchResult[], options: ReadOptions): FetchResult[] {
  const before = new Map(results.map(result => [result.target, result]))
  return readAll(broker, before.keys(), options, target => {
    const result = before.get(target) as FetchResult
    return result.topic ?? result
  })
}

function readAll(
  broker: Broker,
  targets: Iterable<FetchTarget>,
  options: ReadOptions,
  resolve: (target: FetchTarget) => string | FetchResult,
): FetchResult[] {
  const results: FetchResult[] = []
  let left = options.maxBytes
  let minOneBatch = true
  for (const target of targets) {
    const topic = resolve(target)
    const result = typeof topic === 'string' ? readTarget(broker, topic, target, options, left, minOneBatch) : topic
    results.push(result)
    left = Math.max(0, left - result.counted)
    if (result.bytes > 0) minOneBatch = false
  }
  return results
}

function readTarget(
  broker: Broker,
  topic: string,
  target: FetchTarget,
  { readCommitted, fromFollowers, rack }: ReadOptions,
  left: number,
  minOneBatch: boolean,
): FetchResult {
  let partition: Partition | undefined
  try {
    partition = broker.replicas.readable(topic, target.partition, fromFollowers)
    if (target.topicId !== ZERO_UUID && partition.topicId !== target.topicId) {
      throw new KafkaError('INCONSISTENT_TOPIC_ID')
    }
    partition.checkLeaderEpoch(target.currentLeaderEpoch)
    const preferred = preferredReadReplica(broker, partition, target.fetchOffset, rack)
    if (preferred !== undefined) return referTo(preferred, partition, target)
    return readPartition(partition, target, readCommitted, Math.min(left, target.maxBytes), minOneBatch)
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return refused(target, topic, error, null)
  }
}

/** The name of the topic, or why nothing can be read of it whatever is waited for. */
function topicOf(broker: Broker, target: FetchTarget): string | { error: KafkaError } {
  const { image } = broker
  const cached = target as Partial<CachedTarget>
  const resolved = target.topic || cached.resolvedTopic || image.topicsById.get(target.topicId)?.name
  if (resolved === undefined) return { error: new KafkaError('UNKNOWN_TOPIC_ID') }
  if ('resolvedTopic' in cached) cached.resolvedTopic = resolved
  const known = image.partition(resolved, target.partition) !== undefined
  return known ? resolved : { error: new KafkaError('UNKNOWN_TOPIC_OR_PARTITION') }
}

/** The client is told to read from another replica, and nothing else. */
function referTo(preferredReadReplica: number, partition: Partition, target: FetchTarget): FetchResult {
  const { log, topic } = partition
  const data = {
    partitionIndex: target.partition,
    errorCode: 0,
    highWatermark: log.highWatermark,
    lastStableOffset: log.lastStableOffset,
    logStartOffset: log.logStartOffset,
    abortedTransactions: null,
    preferredReadReplica,
  }
  return { target, topic, data, bytes: 0, counted: 0, partition }
}

/** @param aborted what Kafka tells there: an empty list for what is not known, null for what could not be read */
function refused(target: FetchTarget, topic: string | undefined, error: KafkaError, aborted: [] | null): FetchResult {
  const data = {
    partitionIndex: target.partition,
    errorCode: error.code,
    highWatermark: -1,
    lastStableOffset: -1,
    logStartOffset: -1,
    abortedTransactions: aborted,
  }
  return { target, topic, data, bytes: 0, counted: 0, partition: undefined }
}

function readPartition(
  partition: Partition,
  target: FetchTarget,
  readCommitted: boolean,
  maxBytes: number,
  minOneBatch: boolean,
): FetchResult {
  const { log, topic } = partition
  const data: PartitionData = {
    partitionIndex: target.partition,
    errorCode: 0,
    highWatermark: log.highWatermark,
    lastStableOffset: log.lastStableOffset,
    logStartOffset: log.logStartOffset,
    abortedTransactions: readCommitted ? [] : null,
  }
  const divergingEpoch = partition.divergence(target.lastFetchedEpoch, target.fetchOffset)
  if (divergingEpoch !== undefined) {
    data.divergingEpoch = divergingEpoch
    data.abortedTransactions = null
    return { target, topic, data, bytes: 0, counted: 0, partition }
  }
  const isolation = readCommitted ? 'last_stable' : 'high_watermark'
  const read = log.read(target.fetchOffset, { maxBytes, minOneBatch, isolation })
  data.records = read.parts
  if (readCommitted) {
    // Of a first batch that does not fit Kafka tells nothing at all.
    const cut = read.sizeInBytes === 0 && maxBytes > 0 && log.availableBytes(target.fetchOffset, isolation, 1) > 0
    data.abortedTransactions = cut ? null : read.abortedTransactions
  }
  const bytes = read.sizeInBytes
  const counted = bytes === 0 ? 0 : Math.max(bytes, read.availableBytes)
  return { target, topic, data, bytes, counted, partition }
}

/**
 * Waits until `minBytes` can be read, something went wrong, or the time is over. Undefined when there is nothing to wait for:
 * the results can be told as they are.
 */
export function waitForBytes(
  { broker, connectionId }: Pick<RequestContext, 'broker' | 'connectionId'>,
  results: FetchResult[],
  options: WaitOptions & { maxWaitMs: number },
): Later<true> | undefined {
  const readable = results.filter(({ topic }) => topic !== undefined)
  const bytes = results.reduce((sum, result) => sum + result.counted, 0)
  if (options.maxWaitMs <= 0 || readable.length === 0 || bytes >= options.minBytes) return undefined
  if (readable.some(isDecided)) return undefined
  if (enough(readable, options)) return undefined
  return broker.purgatory.wait<true>(
    connectionId,
    readable.map(({ partition }) => (partition as Partition).key),
    options.maxWaitMs,
    () => enough(readable, options) || undefined,
    () => true,
  )
}

/** An error, or something else that the client has to know at once. */
function isDecided({ data }: FetchResult): boolean {
  return data.errorCode !== 0 || data.divergingEpoch !== undefined || data.preferredReadReplica !== undefined
}

interface WaitOptions extends Pick<ReadOptions, 'readCommitted' | 'fromFollowers'> {
  readonly minBytes: number
}

/** Cheap: counts bytes by positions, reads nothing. */
function enough(results: FetchResult[], options: WaitOptions): boolean {
  let bytes = 0
  for (const { target, partition } of results) {
    if (partition === undefined || partition.gone || partition.failure) return true
    // Who does not say what it believes in, and may read from followers, need not know that another leads.
    if (!partition.isLeader && !options.fromFollowers) return true
    const { currentLeaderEpoch } = target
    if (currentLeaderEpoch !== NO_LEADER_EPOCH && currentLeaderEpoch !== partition.leaderEpoch) return true
    const { log } = partition
    const bound = options.readCommitted ? log.lastStableOffset : log.highWatermark
    // Records that are deleted meanwhile wake nobody, as in Kafka.
    if (target.fetchOffset > bound) return true
    const isolation = options.readCommitted ? 'last_stable' : 'high_watermark'
    bytes += availableBytes(log, target.fetchOffset, isolation, target.maxBytes)
    if (bytes >= options.minBytes) return true
  }
  return false
}
