// A topic with its consumer groups: partitions as plain arrays, and per group its members, who reads which partition, up to where they
// have read (positions, which a rebalance drops) and up to where they said they are done (committed offsets, which stay).
// One process, every call atomic. It is not the broker: no clock, no protocol, no retention (partition.ts has that).

import { type AssignorName, assignorNames } from './assign.ts'
import {
  checkChoice,
  checkCount,
  checkInteger,
  checkName,
  checkPartition,
  checkPartitionCount,
  checkRange,
  checkType,
} from './check.ts'
import { Group, type Rebalance } from './group.ts'
import { bytesOf, type Key, murmur2PartitionFor, type Partitioner, partitionFor } from './partitioner.ts'

export interface TopicOptions {
  /** Where keyed records go: FNV-1a by default, `'murmur2'` as Kafka's own producer does, or a function of your own. */
  partitioner?: 'fnv1a' | 'murmur2' | Partitioner
  /** How a group shares the partitions; `range` by default. `cooperative-sticky` runs its rounds to the end in `join` and `leave`. */
  assignor?: AssignorName
  /**
   * `eager` by default: a rebalance drops all positions of the group, and each owner starts again at the committed offset.
   * `cooperative`: partitions whose owner did not change keep their position.
   */
  rebalance?: Rebalance
}

export interface TopicRecord<K, V> {
  partition: number
  offset: number
  key: K | null
  value: V
}

/**
 * A topic of `numPartitions` partitions.
 *
 * @example
 * const topic = new Topic<string, string>(3)
 * topic.append('order-1', 'created') // [partition, 0]
 * topic.join('billing', 'consumer-1')
 * topic.poll('billing', 'consumer-1') // [{ partition, offset: 0, key: 'order-1', value: 'created' }]
 * topic.commit('billing', 'consumer-1')
 */
export class Topic<K extends Key = string, V = unknown> {
  readonly numPartitions: number
  readonly #logs: { key: K | null; value: V }[][]
  readonly #groups = new Map<string, Group>()
  readonly #partitioner: Partitioner
  readonly #newGroup: () => Group
  #recordsWithoutKey = 0

  /** @throws RangeError if `numPartitions` is not a positive integer or an option is not one of its choices */
  constructor(numPartitions: number, options: TopicOptions = {}) {
    const { partitioner = 'fnv1a', assignor = 'range', rebalance = 'eager' } = options
    this.numPartitions = checkPartitionCount(numPartitions)
    checkChoice('assignor', assignor, ...assignorNames)
    checkChoice('rebalance', rebalance, 'eager', 'cooperative')
    this.#partitioner = choosePartitioner(partitioner)
    this.#newGroup = () => new Group(numPartitions, assignor, rebalance)
    this.#logs = Array.from({ length: numPartitions }, () => [])
  }

  /**
   * Appends a record and returns where it went. Equal keys go to the same partition; records with a `null` key go round robin.
   *
   * @throws TypeError if the key is neither null, a string nor bytes
   * @throws RangeError if a partitioner of your own answers with something that is not a partition
   */
  append(key: K | null, value: V): [partition: number, offset: number] {
    const partition = this.#choosePartition(key)
    if (key === null) this.#recordsWithoutKey++
    const log = this.#logs[partition]
    log.push({ key, value })
    return [partition, log.length - 1]
  }

  #choosePartition(key: K | null): number {
    if (key === null) return this.#recordsWithoutKey % this.numPartitions
    if (typeof key !== 'string') bytesOf(key)
    const partition = this.#partitioner(key, this.numPartitions)
    return checkInteger('partitioner()', partition, 0, this.numPartitions - 1)
  }

  /** The offset the next record of this partition will get. */
  endOffset(partition: number): number {
    return this.#logs[checkPartition(partition, this.numPartitions)].length
  }

  /**
   * Looks at records without being in a group, as a consumer does that assigns itself partitions.
   *
   * @throws RangeError if the offset is not from 0 to the end offset
   */
  read(partition: number, offset: number, maxRecords = 100): TopicRecord<K, V>[] {
    checkInteger('offset', offset, 0, this.endOffset(partition))
    checkCount('maxRecords', maxRecords)
    const records: TopicRecord<K, V>[] = []
    this.#readInto(records, partition, offset, maxRecords)
    return records
  }

  /** Adds the records from `offset` on, at most `room`; returns the offset after the last one. */
  #readInto(records: TopicRecord<K, V>[], partition: number, offset: number, room: number): number {
    const log = this.#logs[partition]
    const end = Math.min(log.length, offset + room)
    for (let next = offset; next < end; next++) {
      const { key, value } = log[next]
      records.push({ partition, offset: next, key, value })
    }
    return end
  }

  /** Makes a consumer a member of a group and rebalances it; nothing at all happens if it is a member already. */
  join(group: string, consumerId: string): void {
    checkName('group', group)
    checkName('consumerId', consumerId)
    const known = this.#groups.get(group) ?? this.#newGroup()
    known.join(consumerId)
    this.#groups.set(group, known)
  }

  /** Takes a consumer out of its group and rebalances it; a crash looks the same. Nothing happens if it is not a member. */
  leave(group: string, consumerId: string): void {
    this.#groups.get(group)?.leave(consumerId)
  }

  /** The partitions of a consumer, ascending; none for an idle or unknown one. A fresh array each time. */
  assignment(group: string, consumerId: string): number[] {
    return [...(this.#groups.get(group)?.assignment(consumerId) ?? [])]
  }

  /**
   * The next records of the consumer's partitions: the lowest partition first, each in offset order. Moves the consumer's positions
   * and commits nothing. A position beyond the end of the log goes back to the earliest record, as `auto.offset.reset=earliest` does.
   *
   * @throws RangeError if `maxRecords` is not a non-negative integer
   */
  poll(group: string, consumerId: string, maxRecords = 100): TopicRecord<K, V>[] {
    checkCount('maxRecords', maxRecords)
    const known = this.#groups.get(group)
    const records: TopicRecord<K, V>[] = []
    for (const partition of known?.assignment(consumerId) ?? []) {
      const room = maxRecords - records.length
      if (room === 0) break
      const position = known!.position(partition)
      const start = position > this.endOffset(partition) ? 0 : position
      known!.moveTo(partition, this.#readInto(records, partition, start, room))
    }
    return records
  }

  /**
   * Commits offsets, each the *next offset to read*: the consumer's positions of all its partitions, or those given. Any non-negative
   * offset is legal, as in Kafka. It does not move positions.
   *
   * @throws NotAssignedError if a partition is not the consumer's own now, or does not exist; nothing of the call is stored then.
   * This stops a consumer that lost a partition in a rebalance from committing over its new owner's progress. (Real Kafka stops it by
   * its old generation, and does let a live member of the present generation commit any partition.)
   * @throws RangeError if an offset is not a non-negative integer
   */
  commit(group: string, consumerId: string, offsets?: Readonly<Record<string | number, number>>): void {
    const known = this.#groups.get(group) ?? this.#newGroup()
    if (offsets === undefined) {
      known.commitPositions(consumerId)
      return
    }
    const isObject = typeof offsets === 'object' && offsets !== null && !(offsets instanceof Map)
    checkType(isObject, 'offsets', 'an object', offsets)
    known.commit(group, consumerId, offsets)
  }

  /** The committed offset of a group, 0 if it has none. It outlives the members. */
  committed(group: string, partition: number): number {
    checkPartition(partition, this.numPartitions)
    return this.#groups.get(group)?.committed(partition) ?? 0
  }

  /**
   * Sets committed offsets of a group that nobody is in, as Kafka's `alterConsumerGroupOffsets` does.
   *
   * @throws RangeError if the group has members, or a partition or an offset is not one
   */
  alterOffsets(group: string, offsets: ReadonlyMap<number, number>): void {
    checkName('group', group)
    for (const [partition, offset] of offsets) {
      checkPartition(partition, this.numPartitions)
      checkCount('offset', offset)
    }
    const known = this.#groups.get(group) ?? this.#newGroup()
    checkRange(known.isEmpty, 'group', 'one without members', group)
    known.store(offsets)
    this.#groups.set(group, known)
  }
}

function choosePartitioner(partitioner: 'fnv1a' | 'murmur2' | Partitioner): Partitioner {
  if (typeof partitioner === 'function') return partitioner
  return checkChoice('partitioner', partitioner, 'fnv1a', 'murmur2') === 'murmur2' ? murmur2PartitionFor : partitionFor
}
