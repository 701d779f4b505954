/**
 * Faults planted in the broker from outside, by replacing methods of its classes while a property runs. Nothing in `src/` knows of
 * them.
 */

import { Partition } from '../../src/broker/partition.ts'
import { Leadership } from '../../src/broker/replication/leadership.ts'
import { classicTimeouts } from '../../src/coordinator/group/classic/timeouts.ts'
import { GroupCoordinator } from '../../src/coordinator/group/group-coordinator.ts'
import type { GroupContext, OffsetCommitRequest } from '../../src/coordinator/group/group-requests.ts'
import { OffsetMap } from '../../src/log/cleaner/offset-map.ts'
import { SipHash } from '../../src/log/cleaner/sip-hash.ts'
import { Log } from '../../src/log/log.ts'
import { type ProducerRules, ProducerStates } from '../../src/log/producer-state.ts'
import type { BatchHeader } from '../../src/records/batch-header.ts'

export interface Fault {
  name: string
  /** Plants the fault; the function returned takes it out. */
  plant: () => () => void
}

/** Replaces a method by what `make` makes of it. */
function replace<T extends object, K extends keyof T>(owner: T, name: K, make: (original: T[K]) => T[K]): () => void {
  const original = owner[name]
  owner[name] = make(original)
  return () => {
    owner[name] = original
  }
}

/** A commit of an older generation is taken as one of the present generation. */
export const STALE_GENERATION: Fault = {
  name: 'a stale generation is accepted',
  plant: () =>
    replace(GroupCoordinator.prototype, 'offsetCommit', original => {
      return function (this: GroupCoordinator, request: OffsetCommitRequest, context: GroupContext) {
        const { groupId, generationIdOrMemberEpoch: claimed } = request
        const group = this.machine(this.partitionFor(groupId))?.context.groups.get(groupId)
        const generationIdOrMemberEpoch = claimed < 0 ? claimed : (group?.generationId ?? claimed)
        return original.call(this, { ...request, generationIdOrMemberEpoch }, context)
      }
    }),
}

/** Nothing happens when a session ends. */
export const EXPIRED_MEMBER: Fault = {
  name: 'an expired member is kept',
  plant: () => replace(classicTimeouts as { session: unknown }, 'session', () => () => {}),
}

/** A batch that was sent again is appended again. */
export const DUPLICATE: Fault = {
  name: 'a duplicate is appended',
  plant: () => {
    let isRepeated = false
    const ends = [
      replace(ProducerStates.prototype, 'duplicateOf', original => {
        return function (this: ProducerStates, batch: BatchHeader) {
          isRepeated = original.call(this, batch) !== undefined
          return undefined
        }
      }),
      replace(ProducerStates.prototype, 'checkData', original => {
        return function (this: ProducerStates, batch: BatchHeader, rules: ProducerRules) {
          if (!isRepeated) original.call(this, batch, rules)
        }
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  },
}

/** What groups committed for a topic stays when the topic goes. */
export const SURVIVING_OFFSETS: Fault = {
  name: 'offsets survive the deletion of their topic',
  plant: () => replace(GroupCoordinator.prototype, 'topicsDeleted', () => () => {}),
}

/** The high watermark passes what was appended before the other replicas have it. */
export const EARLY_WATERMARK: Fault = {
  name: 'the high watermark is early',
  plant: () =>
    replace(Log.prototype, 'appendAsLeader', original => {
      return function (this: Log, ...args) {
        const result = original.apply(this, args)
        this.updateHighWatermark(this.logEndOffset)
        return result
      }
    }),
}

/** A follower keeps what its leader never had. */
export const NO_TRUNCATION: Fault = {
  name: 'a log that went another way is not cut',
  plant: () => replace(Partition.prototype, 'truncateWhereDiverging', () => () => false),
}

/** Followers that have not kept up stay in sync. */
export const LASTING_ISR: Fault = {
  name: 'the in-sync replicas never shrink',
  plant: () => replace(Leadership.prototype, 'shrunk', () => () => undefined),
}

/** A batch is appended although one before it is missing. */
export const GAP: Fault = {
  name: 'a gap is accepted',
  plant: () => replace(ProducerStates.prototype, 'checkData', () => () => {}),
}

/** Retention lets the batch at the beginning of what is to stay go as well. */
export const GREEDY_RETENTION: Fault = {
  name: 'retention drops too much',
  plant: () =>
    replace(Log.prototype, 'applyRetention', original => {
      return function (this: Log, now: number) {
        const count = original.call(this, now)
        if (count > 0 && this.logStartOffset < this.highWatermark) this.deleteRecordsBefore(this.logStartOffset + 1)
        return count
      }
    }),
}

/** The cleaner takes the first record of a key for its last. */
export const FIRST_OF_KEY: Fault = {
  name: 'the cleaner keeps the first record of a key',
  plant: () =>
    replace(OffsetMap.prototype, 'put', original => {
      return function (this: OffsetMap, bytes, start, end, offset) {
        if (this.get(bytes, start, end) < 0) original.call(this, bytes, start, end, offset)
      }
    }),
}

/** The cleaner takes some keys for the same. */
export const SAME_HASH: Fault = {
  name: 'two keys have the same hash',
  plant: () =>
    replace(SipHash.prototype, 'hash', () => {
      return (bytes, start, _end, out) => {
        out.fill(bytes[start] >> 1)
      }
    }),
}
