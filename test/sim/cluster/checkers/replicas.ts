/**
 * What was replicated stays: what a leader's high watermark has passed is held by every in-sync replica, the same bytes, and by every later
 * leader; when all has healed, all replicas are the same.
 *
 * It may be lost in two cases, and no other. All replicas that are in sync or eligible are dead at one time, and one of them lost
 * it with its power, not having flushed it: nobody is left who is known to hold it. They may all be dead because the last of them dies,
 * or because the controller takes out one that lives while those that stay are dead, which it does not know yet: with
 * `min.insync.replicas=1` that one is not eligible any more, as in Kafka. And where none of the dead ended in good order, none is trusted
 * when it comes back, whatever it has: who led last leads again then, though it may have lost more (KIP-966). Or a topic allows unclean elections, and the timeline
 * names it as lost, which it cannot when everybody who saw it ended with the process of the cluster.
 */

import type { PartitionImage } from '../../../../src/broker/metadata/image.ts'
import type { Partition } from '../../../../src/broker/partition.ts'
import type { ClusterEvent } from '../../../../src/cluster/timeline.ts'
import type { Log } from '../../../../src/log/log.ts'
import { compactionFault } from '../../checkers/compacted.ts'
import { type Checker, type CrashKind, Violation } from '../../history.ts'
import { type ObservedBatch, readObserved } from '../../observed-log.ts'
import type { PlannedTopic } from '../../plan.ts'
import { GOOD_DAY } from '../../simulated-disk.ts'
import type { ClusterPlan } from '../cluster-plan.ts'
import type { ReplicaWatch } from '../replica-watch.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { CommittedLog } from './committed-log.ts'

const NAME = 'replicas'
const DAY_MS = 86_400_000

export interface ReplicaListener {
  /** A batch is below the high watermark now. */
  committed(log: CommittedLog, batch: ObservedBatch): void
  /** Batches that were are lost, as they may be. */
  lost(log: CommittedLog, batches: readonly ObservedBatch[]): void
}

/** A replica in the moment in which its process was struck, in the middle of an event. */
interface StruckReplica {
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly isLeader: boolean
}

export class Replicas implements Checker {
  readonly name = NAME
  readonly #cluster: SimulatedCluster
  readonly #flushes: boolean
  readonly #allowsUnclean: boolean
  readonly #listener: ReplicaListener
  readonly #logs = new Map<string, CommittedLog>()
  /** Brokers whose last process ended in good order. */
  readonly #endedInOrder = new Set<number>()
  readonly #hasBadDisks: boolean
  readonly #watch: ReplicaWatch
  /** The topics that clients have, where something is compacted; internal ones are then, too. */
  readonly #compacted: ReadonlyMap<string, PlannedTopic> | undefined
  /** By broker that was struck, and partition: what it had and knew in that moment. What it still does is seen by nobody. */
  readonly #struck = new Map<number, Map<string, StruckReplica>>()

  constructor(
    cluster: SimulatedCluster,
    { flush, unclean, faults, compacts, topics }: ClusterPlan,
    watch: ReplicaWatch,
    listener: ReplicaListener,
  ) {
    this.#cluster = cluster
    this.#watch = watch
    this.#flushes = flush === 'commit'
    this.#allowsUnclean = unclean
    if (compacts) this.#compacted = new Map(topics.map(topic => [topic.name, topic]))
    this.#hasBadDisks = faults.diskErrors + faults.fullDisks > 0
    this.#listener = listener
    cluster.listen(event => this.#happened(event))
  }

  get logs(): CommittedLog[] {
    return [...this.#logs.values()]
  }

  of(topic: string, partition: number): CommittedLog | undefined {
    return this.logs.find(log => log.topic === topic && log.partition === partition)
  }

  byKey(key: string): CommittedLog | undefined {
    return this.#logs.get(key)
  }

  step(): void {
    for (const partition of this.#watch.changed.values()) this.#lookAt(partition)
  }

  #lookAt({ key, topicId, index }: Partition): void {
    for (const { id } of this.#cluster.machines) {
      if (!this.#cluster.isCurrent(id)) continue
      const partition = this.#cluster.cluster.broker(id).replicas.find(topicId, index)
      // It has moved away: another that comes in its place begins with nothing.
      if (partition === undefined) this.#logs.get(key)?.forget(id)
      else this.#quietly(id, () => this.#look(id, partition))
    }
    const committed = this.#logs.get(key)
    if (committed !== undefined) this.#demandHeld(committed)
  }

  #look(id: number, partition: Partition): void {
    const log = partition.openedLog
    if (log === undefined) {
      if (partition.failure !== undefined && partition.isLeader) this.#failed(partition)
      return
    }
    const committed = this.#logOf(partition)
    this.#note(committed, id, log)
    if (!partition.isLeader) return
    committed.deletedUpTo = Math.max(committed.deletedUpTo, log.logStartOffset)
    this.#demandWhole(committed, partition, log, id)
    if (log.highWatermark >= committed.endOffset && this.#leads(committed, partition, id))
      committed.isUnwitnessed = false
    // Who led when something was lost, and does not know of it, speaks for nobody any more.
    if (committed.hasLost && !this.#leads(committed, partition, id)) return
    if (log.highWatermark <= committed.endOffset) return
    this.#advance(committed, partition, log, id, log.highWatermark)
    // Its disk could not be read.
    if (log.highWatermark > committed.endOffset) this.#watch.lookAgain(committed.key)
  }

  #failed(partition: Partition): void {
    const committed = this.#logOf(partition)
    committed.unseenUpTo = Math.max(committed.unseenUpTo, partition.highWatermark)
  }

  /** After a start it is not known of everything that was flushed that it was. */
  #note(committed: CommittedLog, id: number, { logEndOffset, flushedOffset }: Log): void {
    committed.held.set(id, logEndOffset)
    const flushed = Math.max(flushedOffset, Math.min(committed.flushed.get(id) ?? 0, logEndOffset))
    committed.flushed.set(id, flushed)
  }

  #logOf({ key, topic, topicId, index }: Partition): CommittedLog {
    let committed = this.#logs.get(key)
    if (committed === undefined) {
      const isCompacted = this.#compacted?.get(topic)?.isCompacted ?? this.#compacted !== undefined
      committed = new CommittedLog(topic, topicId, index, isCompacted)
      this.#logs.set(key, committed)
    }
    return committed
  }

  /** Whoever leads by what the controller decided has everything. */
  #demandWhole(committed: CommittedLog, partition: Partition, log: Log, id: number): void {
    const leader = `${id} in epoch ${partition.leaderEpoch}`
    if (committed.leader === leader || !this.#leads(committed, partition, id)) return
    committed.leader = leader
    if (log.logEndOffset < committed.endOffset) {
      this.#fail(
        committed,
        `${committed.endOffset} offsets were replicated, and broker ${leader} has ${log.logEndOffset}`,
      )
    }
    const found = readObserved(log, log.logStartOffset)?.filter(({ lastOffset }) => lastOffset < committed.endOffset)
    this.#demandKept(committed, log, found, `broker ${leader}`)
  }

  /** The high watermark of a leader has moved: everybody has what it passed. */
  #advance(committed: CommittedLog, partition: Partition, log: Log, id: number, highWatermark: number): void {
    // What was lost may have come back, and its beginning may be deleted.
    const from = Math.max(committed.endOffset, log.logStartOffset)
    const below = (batches: readonly ObservedBatch[] | undefined) =>
      batches?.filter(({ lastOffset }) => lastOffset < highWatermark)
    const batches = below(readObserved(log, from)) ?? []
    const isr = this.#decided(committed)?.isr ?? []
    for (const other of partition.image.isr) {
      if (other === id || !isr.includes(other) || !this.#cluster.isCurrent(other)) continue
      const replica = this.#cluster.cluster.broker(other).replicas.find(committed.topicId, committed.partition)
      if (replica?.openedLog === undefined) continue
      const { openedLog } = replica
      if (replica.storedOffset < highWatermark) {
        this.#fail(
          committed,
          `the high watermark of ${id} is ${highWatermark}, and ${other} has ${replica.storedOffset}`,
        )
      }
      // What was lost and comes back may be cleaned already, by each replica for itself.
      if (committed.isCompacted && committed.hasLost) continue
      this.#quietly(other, () =>
        this.#demandSame(committed, batches, below(readObserved(openedLog, from)), `${other}, unlike ${id},`),
      )
    }
    for (const batch of batches) {
      committed.append(batch)
      this.#listener.committed(committed, batch)
    }
  }

  /** Who is in sync has everything, at all times. */
  #demandHeld(committed: CommittedLog): void {
    const decided = this.#decided(committed)
    for (const id of decided?.isr ?? []) {
      if (!this.#cluster.isCurrent(id)) continue
      const replica = this.#cluster.cluster.broker(id).replicas.find(committed.topicId, committed.partition)
      if (replica?.openedLog === undefined || replica.leaderEpoch !== decided?.leaderEpoch) continue
      const { logEndOffset } = replica.openedLog
      if (logEndOffset < committed.endOffset) {
        const held = `${logEndOffset} of ${committed.endOffset} offsets that were replicated`
        this.#fail(committed, `broker ${id} is in sync, and has ${held}`)
      }
    }
  }

  /** A log holds what was replicated and may not be deleted. */
  #demandKept(committed: CommittedLog, log: Log, found: readonly ObservedBatch[] | undefined, who: string): void {
    if (!committed.isCompacted) return this.#demandSame(committed, committed.keptIn(log), found, who)
    if (found === undefined) return
    const { endOffset: to, hasLost } = committed
    // Where tombstones go sooner, a replica that was away may not have met them, as in Kafka.
    const keepsTombstones = log.config.deleteRetentionMs >= DAY_MS
    const fault = compactionFault(committed, found, { from: log.logStartOffset, to, hasLost, keepsTombstones })
    if (fault !== undefined) this.#fail(committed, `${who} has ${fault}`)
  }

  #demandSame(
    committed: CommittedLog,
    wanted: readonly ObservedBatch[],
    found: readonly ObservedBatch[] | undefined,
    who: string,
  ): void {
    if (found === undefined) return
    const there = new Map(found.map(batch => [batch.baseOffset, batch]))
    for (const { baseOffset, checksum, records } of wanted) {
      const other = there.get(baseOffset)
      if (other?.checksum === checksum) continue
      const ids = (list: typeof records | undefined) => list?.map(({ id }) => id).join(' ') ?? 'nothing'
      const what = `${ids(other?.records)}, not ${ids(records)}`
      this.#fail(committed, `${who} has other bytes at offset ${baseOffset}: ${what}`)
    }
  }

  /** By what the controller decided last. */
  #leads(committed: CommittedLog, { leaderEpoch }: Partition, id: number): boolean {
    const decided = this.#decided(committed)
    return decided?.leader === id && decided.leaderEpoch === leaderEpoch
  }

  #decided({ topicId, partition }: CommittedLog): PartitionImage | undefined {
    return this.#cluster.cluster.image.topicsById.get(topicId)?.partitions[partition]
  }

  /** A process is struck in the middle of an event, whose first half others may have seen: answers that tell of a new high watermark. */
  struck(id: number): void {
    if (!this.#cluster.isMade) return
    const replicas = new Map<string, StruckReplica>()
    for (const { key, isLeader, openedLog } of this.#cluster.cluster.broker(id).replicas.all()) {
      if (openedLog === undefined) continue
      const { logEndOffset, highWatermark } = openedLog
      replicas.set(key, { logEndOffset, highWatermark, isLeader })
    }
    this.#struck.set(id, replicas)
  }

  /** The process of all brokers and the controller is about to end. */
  endingAll(kind: CrashKind | 'stop'): void {
    for (const committed of this.#logs.values()) committed.isUnwitnessed = true
    // The disks of those that died before lose their power, too.
    if (kind === 'power') for (const { id } of this.#cluster.machines) this.#loseUnflushed(id)
  }

  /** A process is about to end: what it holds of each log it may hold no more. */
  ending(id: number, kind: CrashKind | 'stop'): void {
    if (!this.#cluster.isMade) return
    const struck = this.#struck.get(id)
    this.#struck.delete(id)
    // Where a disk was bad it may not have been written down.
    if (kind === 'stop' && !this.#hasBadDisks) this.#endedInOrder.add(id)
    else this.#endedInOrder.delete(id)
    if (kind === 'power' && !this.#isVolatile) this.#loseUnflushed(id)
    this.#cluster.do(() => {
      for (const partition of this.#cluster.cluster.broker(id).replicas.all()) {
        // What a log that failed could not flush goes with the power, too.
        if (partition.failure !== undefined && kind === 'power') {
          const committed = this.#logOf(partition)
          const durable = partition.knownLog ? this.#durable(committed, id, partition.knownLog) : 0
          committed.held.set(id, Math.min(committed.held.get(id) ?? 0, durable))
        }
        const log = partition.openedLog
        const atStrike = struck?.get(partition.key)
        // A log that the process opened after it was struck, nobody has seen.
        if (log === undefined || (struck !== undefined && atStrike === undefined)) continue
        const committed = this.#logOf(partition)
        this.#note(committed, id, log)
        if (atStrike !== undefined) this.#noteStruck(committed, partition, log, id, atStrike)
        if (kind === 'power') committed.held.set(id, this.#durable(committed, id, log))
      }
    })
  }

  /** What a process had not flushed that was killed may go with the power of the next one, which has not opened the log yet. */
  #loseUnflushed(id: number): void {
    for (const { held, flushed } of this.#logs.values()) {
      const before = held.get(id)
      if (before !== undefined) held.set(id, Math.min(before, flushed.get(id) ?? 0))
    }
  }

  get #isVolatile(): boolean {
    return this.#cluster.machines.some(({ memory }) => memory !== undefined)
  }

  #noteStruck(committed: CommittedLog, partition: Partition, log: Log, id: number, atStrike: StruckReplica): void {
    const { logEndOffset, highWatermark, isLeader } = atStrike
    committed.held.set(id, Math.min(log.logEndOffset, logEndOffset))
    if (!isLeader || (committed.hasLost && !this.#leads(committed, partition, id))) return
    if (highWatermark <= committed.endOffset) return
    this.#quietly(id, () => this.#advance(committed, partition, log, id, highWatermark))
  }

  /** In memory a power cut takes what would not be flushed on a disk: see `BrokerNode.kill`. */
  #durable(committed: CommittedLog, id: number, log: Log): number {
    return this.#isVolatile && !this.#flushes ? log.activeSegmentOffset : (committed.flushed.get(id) ?? 0)
  }

  /** A process has ended. */
  ended(): void {
    if (!this.#cluster.isMade) return
    for (const committed of this.#logs.values()) this.#loseUnheld(committed)
  }

  /** When nobody lives any more who is known to hold everything, what the dead do not have is lost, or who may lead without them. */
  #loseUnheld(committed: CommittedLog): void {
    const decided = this.#decided(committed)
    if (decided === undefined) return
    const { isr, elr, lastKnownElr, leader } = decided
    const eligible = [...isr, ...elr, leader].filter(each => each >= 0)
    const members = eligible.length > 0 ? eligible : lastKnownElr
    if (members.some(each => this.#cluster.isCurrent(each))) return
    const next = members.some(each => this.#endedInOrder.has(each)) ? members : [...members, ...lastKnownElr]
    this.#cut(committed, Math.min(...next.map(each => committed.held.get(each) ?? 0)))
  }

  #happened(event: ClusterEvent): void {
    if (event.type === 'broker' || event.type === 'action') return
    const committed = this.of(event.topic, event.partition)
    if (committed === undefined) return
    if (event.type === 'leader' && event.unclean && committed.isUnwitnessed && this.#allowsUnclean) {
      return this.#cut(committed, 0)
    }
    if (event.type !== 'lost') this.#loseUnheld(committed)
    else if (this.#allowsUnclean) {
      // It may be what an old leader takes for replicated only now.
      committed.hasLost = true
      this.#cut(committed, event.from)
    }
  }

  /** What lies from `offset` on is lost, perhaps. */
  #cut(committed: CommittedLog, offset: number): void {
    if (offset >= committed.endOffset) return
    const gone = committed.batches.filter(({ lastOffset }) => lastOffset >= offset)
    committed.hasLost = true
    committed.leader = ''
    this.#watch.lookAgain(committed.key)
    committed.remove(gone, gone[0]?.baseOffset ?? offset)
    this.#listener.lost(committed, gone)
  }

  /** What keeps the replicas from being the same; empty when nothing does. */
  different(): string {
    for (const committed of this.#logs.values()) {
      const ends = new Set<number>()
      const marks = new Set<number>()
      for (const { id } of this.#cluster.machines) {
        if (!this.#cluster.isCurrent(id)) return `broker ${id} is not there`
        const replica = this.#cluster.cluster.broker(id).replicas.find(committed.topicId, committed.partition)
        const log = replica?.openedLog
        if (log === undefined) continue
        ends.add(log.logEndOffset)
        marks.add(log.highWatermark)
      }
      if (ends.size > 1) return `${committed.name} ends at ${[...ends]}`
      if (marks.size > 1) return `${committed.name} has high watermarks ${[...marks]}`
      if (ends.size === 1 && !marks.has([...ends][0]))
        return `${committed.name} is replicated to ${[...marks]} of ${[...ends]}`
    }
    return ''
  }

  /** All has healed: all replicas are the same from beginning to end, and are what was replicated. */
  healed(): void {
    for (const committed of this.#logs.values()) {
      for (const { id } of this.#cluster.machines) {
        const log = this.#cluster.cluster.broker(id).replicas.find(committed.topicId, committed.partition)?.openedLog
        if (log === undefined) continue
        this.#quietly(id, () => {
          const found = readObserved(log, log.logStartOffset)
          this.#demandKept(committed, log, found, `broker ${id}, in the end,`)
          if (committed.isCompacted) return
          const there = found?.filter(({ lastOffset }) => lastOffset >= committed.startIn(log)).length
          const wanted = committed.keptIn(log).length
          if (there !== wanted)
            this.#fail(committed, `broker ${id} has ${there} batches, and ${wanted} were replicated`)
        })
      }
    }
  }

  #fail({ name }: CommittedLog, message: string): never {
    throw new Violation(NAME, `${name}: ${message}`)
  }

  /** What checkers read is no change of a disk, and meets no faults. */
  #quietly(id: number, run: () => void): void {
    const { disk } = this.#cluster.machine(id)
    const { faults } = disk
    disk.faults = { ...GOOD_DAY }
    try {
      run()
    } finally {
      disk.faults = faults
    }
  }
}
