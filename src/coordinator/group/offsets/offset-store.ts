import { encodeGroupRecord, type OffsetCommitValue } from '../../../protocol/embedded/group-records.ts'
import { ZERO_UUID } from '../../../util/uuid.ts'
import type { CoordinatorRecord } from '../../ports.ts'

/**
 * What groups have committed: hard state, changed by `put` and `remove` alone, which only `apply` of the machine calls.
 * It checks nothing. Follows the `Offsets` of `OffsetMetadataManager`.
 */

/** Where a group is in one partition, as its record has it; times are milliseconds, -1 where there is none. */
export type CommittedOffset = Readonly<OffsetCommitValue>

export type OffsetsByTopic = ReadonlyMap<string, ReadonlyMap<number, CommittedOffset>>

export class OffsetStore {
  readonly #groups = new Map<string, Map<string, Map<number, CommittedOffset>>>()

  put(groupId: string, topic: string, partition: number, offset: CommittedOffset): void {
    let topics = this.#groups.get(groupId)
    if (topics === undefined) this.#groups.set(groupId, (topics = new Map()))
    let partitions = topics.get(topic)
    if (partitions === undefined) topics.set(topic, (partitions = new Map()))
    partitions.set(partition, offset)
  }

  remove(groupId: string, topic: string, partition: number): void {
    const topics = this.#groups.get(groupId)
    const partitions = topics?.get(topic)
    if (topics === undefined || partitions === undefined) return
    partitions.delete(partition)
    if (partitions.size === 0) topics.delete(topic)
    if (topics.size === 0) this.#groups.delete(groupId)
  }

  get(groupId: string, topic: string, partition: number): CommittedOffset | undefined {
    return this.#groups.get(groupId)?.get(topic)?.get(partition)
  }

  /** Everything that a group has committed. */
  of(groupId: string): OffsetsByTopic {
    return this.#groups.get(groupId) ?? new Map()
  }

  /** The groups that have committed something. */
  get groupIds(): string[] {
    return [...this.#groups.keys()]
  }
}

export function offsetRecord(
  groupId: string,
  topic: string,
  partition: number,
  offset: CommittedOffset,
): CoordinatorRecord {
  return encodeGroupRecord({ type: 'offsetCommit', key: { group: groupId, topic, partition }, value: offset })
}

export function offsetTombstone(groupId: string, topic: string, partition: number): CoordinatorRecord {
  return encodeGroupRecord({ type: 'offsetCommit', key: { group: groupId, topic, partition }, value: null })
}

/** Tombstones for everything that a group has committed. */
export function allTombstones(store: OffsetStore, groupId: string): CoordinatorRecord[] {
  const tombstones: CoordinatorRecord[] = []
  for (const [topic, partitions] of store.of(groupId)) {
    for (const partition of partitions.keys()) tombstones.push(offsetTombstone(groupId, topic, partition))
  }
  return tombstones
}

/**
 * Whether a commit was made for another topic than the one of that id, which has been deleted and made again under the
 * same name. Where an id is not known nothing is claimed.
 */
export function isOfAnotherTopic(offset: CommittedOffset, topicId: string | undefined): boolean {
  return topicId !== undefined && topicId !== ZERO_UUID && offset.topicId !== ZERO_UUID && offset.topicId !== topicId
}
