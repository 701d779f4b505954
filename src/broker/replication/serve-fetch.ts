import { KafkaError } from '../../protocol/errors.ts'
import type { Env } from '../../util/env.ts'
import { Later } from '../../util/later.ts'
import { availableBytes } from '../available-bytes.ts'
import type { ReplicaFetchData, ReplicaFetchReply, ReplicaFetchRequest, ReplicaFetchTarget } from '../link.ts'
import type { Partition } from '../partition.ts'
import type { Purgatory } from '../purgatory.ts'
import type { Replicas } from '../replicas.ts'
import { type FetchedPartition, type FollowerSession, FollowerSessions } from './replica-fetch-session.ts'

/**
 * Answers the fetches of followers (`ReplicaManager.fetchMessages` for a replica): up to the end of the log, and each fetch tells how far its
 * follower is. One waits until there is something; a follower that asks anew waits no longer for what it asked before.
 */
export class ReplicaFetchServer {
  readonly #env: Env
  readonly #replicas: Replicas
  readonly #purgatory: Purgatory
  readonly #sessions = new FollowerSessions()
  /** By follower: what it waits for. */
  readonly #parked = new Map<number, Parked>()
  /** In the purgatory connections have positive ids. */
  #nextWaitId = -1

  constructor(options: { env: Env; replicas: Replicas; purgatory: Purgatory }) {
    this.#env = options.env
    this.#replicas = options.replicas
    this.#purgatory = options.purgatory
  }

  fetch(request: ReplicaFetchRequest): Later<ReplicaFetchReply> {
    const parked = this.#parked.get(request.replicaId)
    // The same one again, from a link that delivers twice: it waits already.
    if (parked?.number === request.number && parked.brokerEpoch === request.brokerEpoch) return parked.reply
    const session = this.#sessions.continue(request)
    if (session === undefined) return Later.of(this.#env.turns, { isUnknown: true, partitions: [] })
    this.#supersede(request.replicaId)
    const found = this.#readAll(request, session, true)
    if (found.isUrgent || found.sizeInBytes >= request.minBytes || request.maxWaitMs <= 0) {
      return Later.of<ReplicaFetchReply>(this.#env.turns, { partitions: found.partitions })
    }
    return this.#park(request, session)
  }

  #supersede(replicaId: number): void {
    const parked = this.#parked.get(replicaId)
    if (parked === undefined) return
    this.#parked.delete(replicaId)
    this.#purgatory.abandon(parked.waitId)
    parked.reply.settle({ partitions: [] })
  }

  #park(request: ReplicaFetchRequest, session: FollowerSession): Later<ReplicaFetchReply> {
    const waitId = this.#nextWaitId--
    const reply = new Later<ReplicaFetchReply>(this.#env.turns)
    const { number, brokerEpoch } = request
    this.#parked.set(request.replicaId, { number, brokerEpoch, waitId, reply })
    const done = () => {
      if (this.#parked.get(request.replicaId)?.waitId === waitId) this.#parked.delete(request.replicaId)
      reply.settle({ partitions: this.#readAll(request, session, false).partitions })
    }
    this.#purgatory
      .wait<true>(
        waitId,
        session.partitions.keys(),
        request.maxWaitMs,
        () => enough(session, request.minBytes) || undefined,
        () => true,
      )
      .whenSettled(done)
    return reply
  }

  /** @param arrives whether the fetch has just come, and so says how far the follower is; in the end of a wait it says nothing new */
  #readAll(request: ReplicaFetchRequest, session: FollowerSession, arrives: boolean): Found {
    const partitions: ReplicaFetchData[] = []
    let sizeInBytes = 0
    let isUrgent = false
    const served: string[] = []
    for (const [key, fetched] of session.partitions) {
      const maxBytes = Math.max(0, Math.min(request.maxBytes - sizeInBytes, fetched.target.maxBytes))
      const data = this.#read(request, fetched, { maxBytes, minOneBatch: sizeInBytes === 0, arrives })
      if (data === undefined) continue
      partitions.push(data)
      if (data.records.length > 0) served.push(key)
      for (const part of data.records) sizeInBytes += part.length
      isUrgent ||= data.error !== 'NONE' || data.divergingEpoch !== undefined
    }
    session.putLast(served)
    return { partitions, sizeInBytes, isUrgent }
  }

  /** Undefined when there is nothing that the follower does not know. */
  #read(
    { replicaId, brokerEpoch }: ReplicaFetchRequest,
    fetched: FetchedPartition,
    { arrives, ...limits }: { maxBytes: number; minOneBatch: boolean; arrives: boolean },
  ): ReplicaFetchData | undefined {
    const { target } = fetched
    const { topicId, partitionId, fetchOffset } = target
    fetched.partition = undefined
    try {
      const partition = this.#replicas.leaderById(topicId, partitionId)
      fetched.partition = partition
      partition.checkLeaderEpoch(target.currentLeaderEpoch)
      const { log } = partition
      const divergingEpoch = partition.divergence(target.lastFetchedEpoch, fetchOffset)
      if (divergingEpoch !== undefined) {
        return { topicId, partitionId, error: 'NONE', ...marks(partition), divergingEpoch, records: [] }
      }
      const isAtEnd = fetchOffset === log.logEndOffset
      const records = isAtEnd ? [] : log.read(fetchOffset, { ...limits, isolation: 'log_end' }).parts
      if (arrives) partition.followerFetched(replicaId, brokerEpoch, target)
      if (records.length === 0 && !hasMoved(partition, target)) return undefined
      return { topicId, partitionId, error: 'NONE', ...marks(partition), records }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      const known = fetched.partition === undefined ? NO_MARKS : marks(fetched.partition)
      return { topicId, partitionId, error: error.error, ...known, records: [] }
    }
  }
}

/** A fetch that waits. */
interface Parked {
  readonly number: number
  readonly brokerEpoch: number
  readonly waitId: number
  readonly reply: Later<ReplicaFetchReply>
}

interface Found {
  readonly partitions: readonly ReplicaFetchData[]
  readonly sizeInBytes: number
  /** Something cannot be fetched, or not so: the follower is to know at once. */
  readonly isUrgent: boolean
}

const NO_MARKS = { highWatermark: -1, logStartOffset: -1, logEndOffset: -1 }

/** Where the log stands; of one that failed that is not known. */
function marks({ openedLog }: Partition) {
  if (openedLog === undefined) return NO_MARKS
  const { highWatermark, logStartOffset, logEndOffset } = openedLog
  return { highWatermark, logStartOffset, logEndOffset }
}

/** Whether the follower does not know how far its records are replicated, or where the log begins. */
function hasMoved({ log }: Partition, { fetchOffset, highWatermark, logStartOffset }: ReplicaFetchTarget): boolean {
  return Math.min(log.highWatermark, fetchOffset) > highWatermark || log.logStartOffset > logStartOffset
}

/** There is something to read, or to be told. */
function enough({ partitions }: FollowerSession, minBytes: number): boolean {
  let bytes = 0
  for (const { target, partition } of partitions.values()) {
    if (partition === undefined || partition.notLedBecause !== undefined) return true
    if (partition.leaderEpoch !== target.currentLeaderEpoch) return true
    if (target.fetchOffset > partition.log.logEndOffset) return true
    bytes += availableBytes(partition.log, target.fetchOffset, 'log_end', target.maxBytes)
    if (bytes >= minBytes) return true
  }
  return false
}
