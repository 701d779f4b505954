/** What a consumer knows of one partition that it reads: the position, what was fetched ahead, and what stands in the way. */

import type { RecordData } from '../records/batch-reader.ts'
import type { FetchedRecords } from './fetched-records.ts'
import type { TopicPartition } from './topic-partition.ts'

/** Where to begin when there is no position. */
export type OffsetReset = 'earliest' | 'latest'

export class AssignedPartition implements TopicPartition {
  readonly topic: string
  readonly partition: number
  /** The offset of the next record that poll gives; undefined until it is known. */
  position: number | undefined
  /** The leader epoch of the record before the position, −1 when not known: lets the broker see a truncation (KIP-320). */
  positionEpoch = -1
  /** The topic that the position was first used in; undefined until then. */
  topicId: string | undefined
  /** Set by seekToBeginning and seekToEnd; else the policy of the consumer decides. */
  resetTo: OffsetReset | undefined
  paused = false
  /** A fetch or a search for an offset is on its way. */
  busy = false
  /** Nothing is asked before this time. */
  notBefore = 0
  /** Changes with every seek: answers to older questions no longer count. */
  stamp = 0
  /** A replica nearer than the leader (KIP-392). */
  preferredReplica: number | undefined
  highWatermark = -1
  lastStableOffset = -1
  logStartOffset = -1
  #fetched: FetchedRecords | undefined
  #taken = 0

  constructor({ topic, partition }: TopicPartition) {
    this.topic = topic
    this.partition = partition
  }

  /** True when everything fetched has been taken. */
  get empty(): boolean {
    return this.#fetched === undefined
  }

  seek(offset: number | undefined, epoch = -1): void {
    this.position = offset
    this.positionEpoch = epoch
    this.topicId = undefined
    this.resetTo = undefined
    this.stamp++
    this.notBefore = 0
    this.busy = false
    this.preferredReplica = undefined
    this.#fetched = undefined
  }

  /** Keeps what was fetched at the present position. */
  hold(fetched: FetchedRecords): void {
    this.#fetched = fetched
    this.#taken = 0
    if (fetched.records.length === 0) this.#finish(fetched)
  }

  /** Takes up to `max` records and moves the position behind them. */
  take(max: number): RecordData[] {
    const fetched = this.#fetched
    if (fetched === undefined || this.paused || max <= 0) return []
    const records = fetched.records.slice(this.#taken, this.#taken + max)
    this.#taken += records.length
    if (this.#taken === fetched.records.length) this.#finish(fetched)
    else this.position = fetched.records[this.#taken].offset
    return records
  }

  #finish(fetched: FetchedRecords): void {
    this.position = fetched.nextOffset
    if (fetched.leaderEpoch >= 0) this.positionEpoch = fetched.leaderEpoch
    this.#fetched = undefined
  }
}
