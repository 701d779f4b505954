/**
 * A consumer of partitions that it is told to read: positions, fetches over sessions, poll. It is in no group: group-member.ts
 * is, and group-consumer.ts brings the two together. Follows KafkaConsumer with manual assignment, Fetcher, SubscriptionState.
 */

import type { RecordData } from '../records/batch-reader.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import { AssignedPartition, type OffsetReset } from './assigned-partition.ts'
import type { KafkaClient } from './client.ts'
import { Fetcher } from './fetcher.ts'
import { EARLIEST, findOffsets, type IsolationLevel, LATEST, type OffsetAndTimestamp } from './list-offsets.ts'
import { withDefaults } from './options.ts'
import { ClientError, DONE, fail, ok, type Result } from './result.ts'
import { type Task, until } from './task.ts'
import { partitionKey, type TopicPartition } from './topic-partition.ts'

export interface ConsumerOptions {
  /** Default `read_uncommitted`. */
  readonly isolationLevel?: IsolationLevel
  /** Where to begin without a position, or with one that does not exist. Default `latest`. */
  readonly autoOffsetReset?: OffsetReset | 'none'
  /** How long the broker may hold a fetch that finds nothing. Default 500. */
  readonly maxWaitMs?: number
  /** Default 1. */
  readonly minBytes?: number
  /** Default 52428800. */
  readonly maxBytes?: number
  /** Default 1048576. */
  readonly partitionMaxBytes?: number
  /** Records that one poll gives at most. Default 500. */
  readonly maxPollRecords?: number
  /** Where this consumer is, to read from a near replica (KIP-392). */
  readonly rackId?: string
  /** False does without fetch sessions. Default true. */
  readonly fetchSessions?: boolean
}

const CONSUMER_DEFAULTS = {
  isolationLevel: 'read_uncommitted' as IsolationLevel,
  autoOffsetReset: 'latest' as OffsetReset | 'none',
  maxWaitMs: 500,
  minBytes: 1,
  maxBytes: 52_428_800,
  partitionMaxBytes: 1_048_576,
  maxPollRecords: 500,
  rackId: '',
  fetchSessions: true,
}

export type ResolvedConsumerOptions = typeof CONSUMER_DEFAULTS

/** A record as poll gives it. Key and value are views into the response it came with: copy what is to live long. */
export interface ConsumerRecord extends RecordData, TopicPartition {}

/**
 * Reads partitions.
 *
 * @example
 * const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
 * consumer.assign([{ topic: 'orders', partition: 0 }])
 * consumer.poll(1000).whenSettled(result => {
 *   if (result.ok) for (const record of result.value) handle(record)
 * })
 */
export class Consumer {
  readonly #client: KafkaClient
  readonly #options: ResolvedConsumerOptions
  readonly #partitions = new Map<string, AssignedPartition>()
  readonly #fetcher: Fetcher
  #error: ClientError | undefined
  /** Settles when something happened that poll may have waited for. */
  #news: Later<void>
  #polling = false
  #closed = false
  #rotation = 0

  constructor(client: KafkaClient, options: ConsumerOptions = {}) {
    this.#client = client
    this.#options = withDefaults(CONSUMER_DEFAULTS, options)
    this.#news = new Later(client.env.turns)
    this.#fetcher = new Fetcher(client, this.#options, {
      happened: () => this.#happened(),
      failed: error => this.#fail(error),
      outOfRange: partition => this.#outOfRange(partition),
    })
  }

  /** The partitions that are read. */
  get assignment(): TopicPartition[] {
    return [...this.#partitions.values()].map(({ topic, partition }) => ({ topic, partition }))
  }

  /** Reads these partitions from now on, and no others; those that stay keep their position. */
  assign(partitions: readonly TopicPartition[]): void {
    const before = new Map(this.#partitions)
    this.#partitions.clear()
    for (const each of partitions) {
      const key = partitionKey(each)
      this.#partitions.set(key, before.get(key) ?? new AssignedPartition(each))
      before.delete(key)
    }
    // Answers that are still on their way must not touch what is assigned anew later.
    for (const gone of before.values()) gone.seek(undefined)
    this.#client.use(partitions.map(each => each.topic))
    this.#happened()
  }

  /** Goes on at `offset`. `leaderEpoch` is that of the record before it, where known. */
  seek(partition: TopicPartition, offset: number, leaderEpoch = -1): Result<void> {
    return this.#with(partition, assigned => assigned.seek(offset, leaderEpoch))
  }

  /** Goes on at the log start offset, found with the next poll. */
  seekToBeginning(partition: TopicPartition): Result<void> {
    return this.#with(partition, assigned => this.#reset(assigned, 'earliest'))
  }

  /** Goes on behind the last record, found with the next poll. */
  seekToEnd(partition: TopicPartition): Result<void> {
    return this.#with(partition, assigned => this.#reset(assigned, 'latest'))
  }

  /** Keeps the partition, but gives and fetches none of its records. */
  pause(partition: TopicPartition): Result<void> {
    return this.#with(partition, assigned => {
      assigned.paused = true
    })
  }

  resume(partition: TopicPartition): Result<void> {
    return this.#with(partition, assigned => {
      assigned.paused = false
    })
  }

  #with(partition: TopicPartition, change: (assigned: AssignedPartition) => void): Result<void> {
    const assigned = this.#partitions.get(partitionKey(partition))
    if (assigned === undefined) return notAssigned(partition)
    change(assigned)
    this.#happened()
    return DONE
  }

  #reset(assigned: AssignedPartition, to: OffsetReset): void {
    assigned.seek(undefined)
    assigned.resetTo = to
  }

  /** The high watermark, last stable and log start offset as the last fetch told; −1 when none did. */
  watermarks(partition: TopicPartition) {
    const {
      highWatermark = -1,
      lastStableOffset = -1,
      logStartOffset = -1,
    } = this.#partitions.get(partitionKey(partition)) ?? {}
    return { highWatermark, lastStableOffset, logStartOffset }
  }

  /** The position if it is known; it is not before the first poll. */
  positionNow(partition: TopicPartition): { offset: number; leaderEpoch: number } | undefined {
    const assigned = this.#partitions.get(partitionKey(partition))
    if (assigned?.position === undefined) return undefined
    return { offset: assigned.position, leaderEpoch: assigned.positionEpoch }
  }

  /** The offset of the next record; looks for it where the reset policy says when there is none yet. */
  position(partition: TopicPartition): Later<Result<number>> {
    const key = partitionKey(partition)
    const task = function* (this: Consumer): Task<Result<number>> {
      for (;;) {
        const news = this.#news
        if (this.#closed) return closed()
        const assigned = this.#partitions.get(key)
        if (assigned === undefined) return notAssigned(partition)
        if (assigned.position !== undefined) return ok(assigned.position)
        this.#findPositions()
        const error = this.#takeError()
        if (error !== undefined) return { ok: false, error }
        yield* until(news)
      }
    }
    return this.#client.run(task.call(this))
  }

  /**
   * Gives records as soon as there are any, and none when `timeoutMs` is over. Errors: OTTLA_NO_OFFSET and OFFSET_OUT_OF_RANGE
   * where the policy is `none`, what a broker refuses for good, and OTTLA_INVALID_ARGUMENT for a poll during a poll.
   */
  poll(timeoutMs = 0): Later<Result<ConsumerRecord[]>> {
    if (this.#closed) return this.#client.failed(closed())
    if (this.#polling) return this.#client.failed(fail('OTTLA_INVALID_ARGUMENT', 'a poll is on its way already'))
    this.#polling = true
    return this.#client.run(this.#poll(this.#client.env.now() + timeoutMs)).map(result => {
      this.#polling = false
      return result
    })
  }

  *#poll(deadline: number): Task<Result<ConsumerRecord[]>> {
    for (;;) {
      // Taken before anything is looked at, so that what happens meanwhile is not slept through.
      const news = this.#news
      if (this.#closed || this.#client.closed) return closed()
      const records = this.#collect()
      const error = records.length === 0 ? this.#takeError() : undefined
      if (error !== undefined) return { ok: false, error }
      this.#findPositions()
      // Also when there are records: the next poll finds fetched what this one left room for.
      this.#fetcher.fetch(this.#partitions.values())
      const left = deadline - this.#client.env.now()
      if (records.length > 0 || left <= 0) return ok(records)
      const timer: Timer = this.#client.env.timer(left, () => this.#happened())
      yield* until(news)
      timer.cancel()
    }
  }

  /** Takes from the partitions in turn, beginning with another one each time, so that none goes hungry. */
  #collect(): ConsumerRecord[] {
    const partitions = [...this.#partitions.values()].filter(each => !each.empty)
    const records: ConsumerRecord[] = []
    if (partitions.length === 0) return records
    const first = this.#rotation++ % partitions.length
    for (const assigned of [...partitions.slice(first), ...partitions.slice(0, first)]) {
      const { topic, partition } = assigned
      const taken = assigned.take(this.#options.maxPollRecords - records.length)
      for (const record of taken) records.push({ topic, partition, ...record })
    }
    return records
  }

  /** Looks for the positions that are missing. */
  #findPositions(): void {
    const now = this.#client.env.now()
    const open: { assigned: AssignedPartition; stamp: number; timestamp: number }[] = []
    for (const assigned of this.#partitions.values()) {
      if (assigned.position !== undefined || assigned.busy || now < assigned.notBefore) continue
      const reset = assigned.resetTo ?? this.#options.autoOffsetReset
      if (reset === 'none') {
        this.#fail(new ClientError('OTTLA_NO_OFFSET', `${assigned.topic}-${assigned.partition} has no position`))
        continue
      }
      assigned.busy = true
      open.push({ assigned, stamp: assigned.stamp, timestamp: reset === 'earliest' ? EARLIEST : LATEST })
    }
    if (open.length === 0) return
    const queries = open.map(({ assigned, timestamp }) => ({ ...nameOf(assigned), timestamp }))
    const task = findOffsets(this.#client, queries, this.#options.isolationLevel)
    this.#client.run(task).whenSettled(result => {
      for (const { assigned, stamp } of open) {
        if (assigned.stamp !== stamp) continue
        assigned.busy = false
        if (result.ok) assigned.seek(result.value.get(partitionKey(assigned))?.offset)
      }
      if (!result.ok) this.#fail(result.error)
      this.#happened()
    })
  }

  #outOfRange(assigned: AssignedPartition): void {
    const { topic, partition, position } = assigned
    const to = this.#options.autoOffsetReset
    if (to === 'none') {
      this.#fail(new ClientError('OFFSET_OUT_OF_RANGE', `${topic}-${partition} has no offset ${position}`))
    } else this.#reset(assigned, to)
  }

  /** Makes the present or the next poll answer with `error`: for those who give this consumer its partitions. */
  fail(error: ClientError): void {
    this.#fail(error)
  }

  #fail(error: ClientError): void {
    this.#error ??= error
    this.#happened()
  }

  #takeError(): ClientError | undefined {
    const error = this.#error
    this.#error = undefined
    return error
  }

  #happened(): void {
    this.#news.settle()
    this.#news = new Later(this.#client.env.turns)
  }

  /** The first offsets that there are, keyed by `topic:partition`. */
  beginningOffsets(partitions: readonly TopicPartition[]): Later<Result<Map<string, OffsetAndTimestamp>>> {
    return this.offsetsForTimes(partitions.map(each => ({ ...nameOf(each), timestamp: EARLIEST })))
  }

  /** The offsets behind the last records (with `read_committed`: the last stable offsets), keyed by `topic:partition`. */
  endOffsets(partitions: readonly TopicPartition[]): Later<Result<Map<string, OffsetAndTimestamp>>> {
    return this.offsetsForTimes(partitions.map(each => ({ ...nameOf(each), timestamp: LATEST })))
  }

  /** The first records that are at least so new, keyed by `topic:partition`; offset −1 when there is none. */
  offsetsForTimes(
    queries: readonly (TopicPartition & { readonly timestamp: number })[],
  ): Later<Result<Map<string, OffsetAndTimestamp>>> {
    return this.#client.run(findOffsets(this.#client, queries, this.#options.isolationLevel))
  }

  /** Ends the fetch sessions and closes the connections of this consumer. */
  close(): Later<Result<void>> {
    this.#closed = true
    this.#happened()
    return this.#client.run(this.#fetcher.close())
  }
}

function nameOf({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition }
}

function closed() {
  return fail('OTTLA_CLIENT_CLOSED', 'the consumer is closed')
}

function notAssigned({ topic, partition }: TopicPartition) {
  return fail('OTTLA_NOT_ASSIGNED', `${topic}-${partition} is not assigned`)
}
