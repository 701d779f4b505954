import { decodeGroupRecord, type GroupMetadataValue } from '../../protocol/embedded/group-records.ts'
import type { ErrorName } from '../../protocol/errors.ts'
import type { Env } from '../../util/env.ts'
import type { Decision } from '../decision.ts'
import type { CoordinatorRecord, TopicsView } from '../ports.ts'
import type { Machine, Timers } from '../runtime.ts'
import { type ClassicContext, cancelTimers } from './classic/classic-context.ts'
import { ClassicGroup } from './classic/classic-group.ts'
import { prepareRebalance } from './classic/rebalance.ts'
import { restoreGroup } from './classic/records.ts'
import { joinError } from './classic/responses.ts'
import { scheduleSession } from './classic/sessions.ts'
import { classicTimeouts } from './classic/timeouts.ts'
import type { GroupConfig } from './group-config.ts'
import { expireOffsets } from './offsets/expire.ts'
import { type CommittedOffset, OffsetStore } from './offsets/offset-store.ts'

/**
 * The groups and offsets of one partition of `__consumer_offsets`. Hard state is what `apply` writes: the last record
 * of each group, and the offsets. The groups in memory are soft: while a rebalance goes on they are ahead of their
 * record, and loading makes them from it. Follows `GroupCoordinatorShard`.
 */

/** Tombstones that one decision writes at most when many are due; the rest follows at once in others. */
export const TOMBSTONES_PER_DECISION = 1_000

const EXPIRE_OFFSETS = 'expire-offsets'

export interface GroupMachineOptions {
  env: Env
  timers: Timers
  topics: TopicsView
  config: () => GroupConfig
}

/** Everything that is in the log and nothing else: equal after the same records, live or loaded. */
export interface HardState {
  /** The last record of each group; null for one that is only known by its offsets. */
  groups: Map<string, GroupMetadataValue | null>
  /** By group, topic and partition. */
  offsets: Map<string, CommittedOffset>
}

export class GroupMachine implements Machine {
  readonly context: ClassicContext
  readonly offsets = new OffsetStore()
  readonly topics: TopicsView
  readonly #stored = new Map<string, GroupMetadataValue | null>()
  #loading = true

  constructor({ env, timers, topics, config }: GroupMachineOptions) {
    this.topics = topics
    this.context = { env, timers, groups: new Map(), config, timeouts: classicTimeouts }
  }

  apply(record: CoordinatorRecord): void {
    const decoded = decodeGroupRecord(record.key, record.value)
    switch (decoded.type) {
      case 'offsetCommit': {
        const { group, topic, partition } = decoded.key
        if (decoded.value === null) this.offsets.remove(group, topic, partition)
        else this.#applyCommit(group, topic, partition, decoded.value)
        return
      }
      case 'groupMetadata':
        this.#applyGroup(decoded.key.group, decoded.value)
        return
      case 'unknown':
        // A newer version wrote it; Kafka passes over it too.
        this.context.env.log('debug', 'unknown record in __consumer_offsets', { recordType: decoded.recordType })
    }
  }

  #applyCommit(groupId: string, topic: string, partition: number, value: CommittedOffset): void {
    this.offsets.put(groupId, topic, partition, value)
    // Whoever commits without ever having joined makes a group that has only offsets.
    if (this.#stored.has(groupId)) return
    this.#stored.set(groupId, null)
    if (!this.context.groups.has(groupId)) this.context.groups.set(groupId, new ClassicGroup(groupId))
  }

  #applyGroup(groupId: string, value: GroupMetadataValue | null): void {
    const { groups } = this.context
    if (value === null) {
      this.#stored.delete(groupId)
      const group = groups.get(groupId)
      if (group !== undefined) cancelTimers(this.context, group)
      groups.delete(groupId)
      return
    }
    this.#stored.set(groupId, value)
    // Live, the group in memory is where the record came from.
    if (this.#loading) groups.set(groupId, restoreGroup(groupId, value))
  }

  loaded(decision: Decision): void {
    this.#loading = false
    const { context } = this
    for (const group of context.groups.values()) {
      for (const member of group.members.values()) scheduleSession(context, group, member)
      if (group.members.size > context.config().maxSize) {
        prepareRebalance(context, decision, group, 'loaded with more members than group.max.size allows')
      }
    }
    this.#scheduleExpiry(context.config().offsetsRetentionCheckIntervalMs)
  }

  /** Who is joining is told its member id, so that the next coordinator knows it. */
  unloaded(error: ErrorName): void {
    for (const group of this.context.groups.values()) {
      for (const member of group.members.values()) member.answerJoin(joinError(error, member.memberId))
    }
  }

  #scheduleExpiry(delayMs: number): void {
    const { context } = this
    context.timers.set(EXPIRE_OFFSETS, delayMs, decision => {
      const more = expireOffsets(context, this.offsets, this.topics, decision, TOMBSTONES_PER_DECISION)
      const intervalMs = context.config().offsetsRetentionCheckIntervalMs
      this.#scheduleExpiry(more ? 0 : intervalMs)
      // What cannot be stored now is tried again with the next scan, not at once.
      decision.whenFailed(() => this.#scheduleExpiry(intervalMs))
    })
  }

  hardState(): HardState {
    const offsets = new Map<string, CommittedOffset>()
    for (const groupId of this.offsets.groupIds) {
      for (const [topic, partitions] of this.offsets.of(groupId)) {
        for (const [partition, offset] of partitions) {
          offsets.set(JSON.stringify([groupId, topic, partition]), offset)
        }
      }
    }
    return { groups: new Map(this.#stored), offsets }
  }
}
