// One partition with several copies: who leads, who is in sync (ISR), how far everybody has it (high watermark), and what an election can
// lose. The partition sees everything at once and every call is a step of time; the cluster's brokers only know what they were told.
// Follows Partition and ReplicaManager for the watermark, the controller for elections, KIP-101 for truncation.

import { checkArray, checkCount, checkInteger, checkRange } from './check.ts'
import { NotEnoughReplicasError, NotLeaderError, OffsetOutOfRangeError, RequestTimedOutError } from './errors.ts'

export type Acks = 0 | 1 | 'all'

/** A record in a replica's log; two logs that agree on the epoch of an offset have the same record there. */
export interface ReplicatedRec<K = string, V = unknown> {
  offset: number
  /** The epoch of the leader that appended it. */
  leaderEpoch: number
  key: K | null
  value: V
}

export interface ReplicationOptions {
  /** Broker ids; the first is the first leader, and elections prefer earlier ones. */
  replicas: readonly number[]
  /** How many must be in sync for `acks: 'all'` and for the watermark to move; at most as many as there are replicas. */
  minInsyncReplicas?: number
  /** Whether a replica that is not in sync may lead when none is left that is. */
  uncleanLeaderElection?: boolean
  /** Followers fetch only when `replicate()` is called, instead of after each call. */
  manual?: boolean
}

interface Replica<K, V> {
  readonly id: number
  log: ReplicatedRec<K, V>[]
  alive: boolean
  stalled: boolean
}

/**
 * A replicated partition.
 *
 * @example
 * const partition = new ReplicatedPartition<string, string>({ replicas: [1, 2, 3], minInsyncReplicas: 2 })
 * partition.append('k', 'v', { acks: 'all' }) // { offset: 0, leaderEpoch: 0 }
 * partition.kill(1)
 * partition.leader // 2, in epoch 1
 */
export class ReplicatedPartition<K = string, V = unknown> {
  readonly #replicas: readonly Replica<K, V>[]
  readonly #minInsyncReplicas: number
  readonly #unclean: boolean
  readonly #manual: boolean
  #isr: Replica<K, V>[]
  #leader: Replica<K, V> | null
  #leaderEpoch = 0
  #highWatermark = 0
  /** What producers were told is safe, and what they will be told once the watermark has passed it. */
  readonly #acknowledged: ReplicatedRec<K, V>[] = []
  #unanswered: ReplicatedRec<K, V>[] = []

  constructor(options: ReplicationOptions) {
    const { replicas, minInsyncReplicas = 1, uncleanLeaderElection = false, manual = false } = options
    checkInteger('minInsyncReplicas', minInsyncReplicas, 1)
    this.#replicas = checkReplicas(replicas).map(id => ({ id, log: [], alive: true, stalled: false }))
    this.#minInsyncReplicas = Math.min(minInsyncReplicas, replicas.length)
    this.#unclean = uncleanLeaderElection
    this.#manual = manual
    this.#isr = [...this.#replicas]
    this.#leader = this.#replicas[0]
  }

  /** The leading replica, or `null` if none may lead. */
  get leader(): number | null {
    return this.#leader?.id ?? null
  }

  /** One more for each change of the leader, also to none. */
  get leaderEpoch(): number {
    return this.#leaderEpoch
  }

  /**
   * The in-sync replicas, ascending. When the last one dies it stays listed: it alone may lead again without losing anything. (Kafka 4 keeps
   * replicas that may still lead in a list of their own, the eligible leader replicas of KIP-966.)
   */
  get isr(): number[] {
    return this.#isr.map(replica => replica.id).sort((a, b) => a - b)
  }

  /** Up to here, not including, every in-sync replica has the log; consumers read no further. */
  get highWatermark(): number {
    return this.#highWatermark
  }

  /** A copy of what a replica has, also of a dead one. */
  log(replica: number): ReplicatedRec<K, V>[] {
    return copiesOf(this.#find(replica).log)
  }

  /**
   * Appends to the leader's log. `acks` says what the producer waits for: nothing, the leader, or (by default) every in-sync replica. In
   * manual mode `'all'` returns at once, and the record counts as acknowledged when `replicate()` has brought it to everybody.
   *
   * @throws NotLeaderError if there is no leader
   * @throws NotEnoughReplicasError for `'all'`, if fewer than `minInsyncReplicas` are in sync; nothing was appended
   * @throws RequestTimedOutError for `'all'`, if a stalled follower is still in sync. The record stays in the log, and the watermark before
   * it until `shrinkIsr()` or `resume()`
   */
  append(key: K | null, value: V, options: { acks?: Acks } = {}): { offset: number; leaderEpoch: number } {
    const { acks = 'all' } = options
    checkRange(acks === 0 || acks === 1 || acks === 'all', 'acks', '0, 1 or all', acks)
    const leader = this.#leaderOrThrow()
    if (acks === 'all' && this.#isr.length < this.#minInsyncReplicas) {
      throw new NotEnoughReplicasError(`${this.#isr.length} in sync, acks=all needs ${this.#minInsyncReplicas}`)
    }
    const record = { offset: leader.log.length, leaderEpoch: this.#leaderEpoch, key, value }
    leader.log.push(record)
    if (acks === 1) this.#acknowledged.push(record)
    const late = this.#isr.find(replica => replica.stalled && replica !== leader)
    if (acks === 'all' && !late) this.#unanswered.push(record)
    this.#afterEachCall()
    if (acks === 'all' && late) {
      throw new RequestTimedOutError(`replica ${late.id} did not fetch offset ${record.offset} in time`)
    }
    return { offset: record.offset, leaderEpoch: record.leaderEpoch }
  }

  /**
   * What consumers see: records below the high watermark.
   *
   * @throws NotLeaderError if there is no leader
   * @throws OffsetOutOfRangeError beyond the end of the leader's log; between watermark and end there is just nothing yet
   */
  read(offset: number, max = 100): ReplicatedRec<K, V>[] {
    checkCount('offset', offset)
    checkCount('max', max)
    const leader = this.#leaderOrThrow()
    if (offset > leader.log.length) throw new OffsetOutOfRangeError(offset, 0, leader.log.length)
    const end = Math.min(this.#highWatermark, offset + max)
    return copiesOf(leader.log.slice(offset, Math.max(offset, end)))
  }

  #leaderOrThrow(): Replica<K, V> {
    if (this.#leader === null) throw new NotLeaderError('the partition has no leader')
    return this.#leader
  }

  /** The replica's broker dies. A follower leaves the ISR; if it led, another in-sync replica is elected. */
  kill(replica: number): void {
    const dead = this.#find(replica)
    if (!dead.alive) return
    dead.alive = false
    const others = this.#isr.filter(member => member !== dead)
    if (others.length > 0) this.#isr = others
    if (this.#leader === dead) this.#elect()
    this.#afterEachCall()
  }

  /** The replica's broker is back, with the log it had; whatever made it stall is over. */
  restart(replica: number): void {
    const back = this.#find(replica)
    if (back.alive) return
    back.alive = true
    back.stalled = false
    if (this.#leader === null) this.#elect()
    this.#afterEachCall()
  }

  /** The replica stops fetching, but lives: a long pause, a slow disk. It stays in sync until `shrinkIsr()`. */
  stall(replica: number): void {
    this.#find(replica).stalled = true
    this.#afterEachCall()
  }

  /** The replica fetches again. */
  resume(replica: number): void {
    this.#find(replica).stalled = false
    this.#afterEachCall()
  }

  /** `replica.lag.time.max.ms` has passed: stalled followers leave the ISR. */
  shrinkIsr(): void {
    if (this.#leader !== null) this.#isr = this.#isr.filter(replica => replica === this.#leader || !replica.stalled)
    this.#afterEachCall()
  }

  /** One round: live followers fetch, those who have caught up join the ISR, and the watermark moves. */
  replicate(): void {
    const leader = this.#leader
    if (leader === null) return
    for (const follower of this.#replicas) {
      if (follower === leader || !follower.alive || follower.stalled) continue
      // A log that went another way since some epoch is cut back to where it agrees with the leader's.
      const agreed = agreement(follower.log, leader.log)
      follower.log = [...follower.log.slice(0, agreed), ...leader.log.slice(agreed)]
      if (!this.#isr.includes(follower)) this.#isr.push(follower)
    }
    this.#moveWatermark(leader.log)
  }

  /** As far as every in-sync replica has the log; not at all while fewer than the minimum are in sync, whatever the acks. */
  #moveWatermark(leading: ReplicatedRec<K, V>[]): void {
    if (this.#isr.length < this.#minInsyncReplicas) return
    // What somebody has of an older epoch is nothing that the leader has.
    const everybodyHas = Math.min(...this.#isr.map(({ log }) => agreement(log, leading)))
    this.#highWatermark = Math.max(this.#highWatermark, everybodyHas)
    this.#acknowledged.push(...this.#unanswered.filter(record => record.offset < this.#highWatermark))
    this.#unanswered = this.#unanswered.filter(record => record.offset >= this.#highWatermark)
  }

  #afterEachCall(): void {
    if (!this.#manual) this.replicate()
  }

  /** The first live replica that is in sync; otherwise, if allowed, the first that lives at all; otherwise none. */
  #elect(): void {
    const alive = this.#replicas.filter(replica => replica.alive)
    const clean = alive.find(replica => this.#isr.includes(replica))
    const before = this.#leader
    this.#leader = clean ?? (this.#unclean ? alive[0] : undefined) ?? null
    if (this.#leader !== before) this.#leaderEpoch++
    if (this.#leader === null) return
    if (clean === undefined) this.#isr = [this.#leader]
    // An unclean leader may have less than consumers have already read. Whoever waited for an answer from the old leader gets none.
    this.#highWatermark = Math.min(this.#highWatermark, this.#leader.log.length)
    this.#unanswered = []
  }

  /** The acknowledged records that no replica has any more, not even a dead one. */
  lost(): ReplicatedRec<K, V>[] {
    const has = (replica: Replica<K, V>, record: ReplicatedRec<K, V>) =>
      replica.log[record.offset]?.leaderEpoch === record.leaderEpoch
    return copiesOf(this.#acknowledged.filter(record => !this.#replicas.some(replica => has(replica, record))))
  }

  #find(id: number): Replica<K, V> {
    const replica = this.#replicas.find(candidate => candidate.id === id)
    checkRange(replica !== undefined, 'replica', 'one of the replicas', id)
    return replica!
  }
}

/** So that nobody can change what is in a log. */
function copiesOf<T>(records: readonly T[]): T[] {
  return records.map(record => ({ ...record }))
}

/** How far two logs are the same. */
function agreement(a: readonly { leaderEpoch: number }[], b: readonly { leaderEpoch: number }[]): number {
  let agreed = 0
  while (agreed < a.length && agreed < b.length && a[agreed].leaderEpoch === b[agreed].leaderEpoch) agreed++
  return agreed
}

function checkReplicas(replicas: readonly number[]): readonly number[] {
  checkArray('replicas', replicas)
  for (const id of replicas) checkCount('replicas', id)
  const different = replicas.length > 0 && new Set(replicas).size === replicas.length
  checkRange(different, 'replicas', 'different broker ids', String(replicas))
  return replicas
}
