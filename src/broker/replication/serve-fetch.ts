import { KafkaError } from '../../protocol/errors.ts'
import type { Env } from '../../util/env.ts'
import { Later } from '../../util/later.ts'
import { availableBytes } from '../available-bytes.ts'
import type { ReplicaFetchData, ReplicaFetchReply, ReplicaFetchRequest, ReplicaFetchTarget } from '../link.ts'
import type { Partition } from '../partition.ts'
import type { Purgatory } from '../purgatory.ts'
import type { Replicas } from '../replicas.ts'

/**
 * Answers the fetches of followers (`ReplicaManager.fetchMessages` for a replica): up to the end of the log, and each fetch tells how far its
 * follower is. One waits until there is something; a follower that asks anew waits no longer for what it asked before.
 */
export class ReplicaFetchServer {
  readonly #env: Env
  readonly #replicas: Replicas
  readonly #purgatory: Purgatory
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
    this.#supersede(request.replicaId)
    const results = this.#readAll(request)
    const bytes = results.reduce((sum, { sizeInBytes }) => sum + sizeInBytes, 0)
    const isSettled = results.some(({ data }) => data.error !== 'NONE' || data.divergingEpoch !== undefined)
    if (isSettled || bytes >= request.minBytes || request.maxWaitMs <= 0) {
      return Later.of(this.#env.turns, replyOf(results))
    }
    return this.#park(request, results)
  }

  #supersede(replicaId: number): void {
    const parked = this.#parked.get(replicaId)
    if (parked === undefined) return
    this.#parked.delete(replicaId)
    this.#purgatory.abandon(parked.waitId)
    parked.reply.settle({ partitions: [] })
  }

  #park(request: ReplicaFetchRequest, results: Result[]): Later<ReplicaFetchReply> {
    const waitId = this.#nextWaitId--
    const reply = new Later<ReplicaFetchReply>(this.#env.turns)
    const { number, brokerEpoch } = request
    this.#parked.set(request.replicaId, { number, brokerEpoch, waitId, reply })
    const done = () => {
      if (this.#parked.get(request.replicaId)?.waitId === waitId) this.#parked.delete(request.replicaId)
      reply.settle(replyOf(this.#readAll(request)))
    }
    this.#purgatory
      .wait<true>(
        waitId,
        results.map(({ partition }) => (partition as Partition).key),
        request.maxWaitMs,
        () => enough(results, request.minBytes) || undefined,
        () => true,
      )
      .whenSettled(done)
    return reply
  }

  #readAll(request: ReplicaFetchRequest): Result[] {
    let left = request.maxBytes
    let minOneBatch = true
    return request.partitions.map(target => {
      const result = this.#read(request, target, Math.min(left, target.maxBytes), minOneBatch)
      left = Math.max(0, left - result.sizeInBytes)
      if (result.sizeInBytes > 0) minOneBatch = false
      return result
    })
  }

  #read(
    { replicaId, brokerEpoch }: ReplicaFetchRequest,
    target: ReplicaFetchTarget,
    maxBytes: number,
    minOneBatch: boolean,
  ): Result {
    const { topicId, partitionId, fetchOffset } = target
    let partition: Partition | undefined
    try {
      partition = this.#replicas.leaderById(topicId, partitionId)
      partition.checkLeaderEpoch(target.currentLeaderEpoch)
      const { log } = partition
      const divergingEpoch = partition.divergence(target.lastFetchedEpoch, fetchOffset)
      if (divergingEpoch !== undefined) {
        const data = { topicId, partitionId, error: 'NONE' as const, ...marks(partition), divergingEpoch, records: [] }
        return { target, partition, data, sizeInBytes: 0 }
      }
      const read = log.read(fetchOffset, { maxBytes, minOneBatch, isolation: 'log_end' })
      partition.followerFetched(replicaId, brokerEpoch, target)
      const data = { topicId, partitionId, error: 'NONE' as const, ...marks(partition), records: read.parts }
      return { target, partition, data, sizeInBytes: read.sizeInBytes }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      const known = partition === undefined ? NO_MARKS : marks(partition)
      const data = { topicId, partitionId, error: error.error, ...known, records: [] }
      return { target, partition, data, sizeInBytes: 0 }
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

interface Result {
  readonly target: ReplicaFetchTarget
  readonly partition: Partition | undefined
  readonly data: ReplicaFetchData
  readonly sizeInBytes: number
}

const NO_MARKS = { highWatermark: -1, logStartOffset: -1, logEndOffset: -1 }

/** Where the log stands; of one that failed that is not known. */
function marks({ openedLog }: Partition) {
  if (openedLog === undefined) return NO_MARKS
  const { highWatermark, logStartOffset, logEndOffset } = openedLog
  return { highWatermark, logStartOffset, logEndOffset }
}

function replyOf(results: Result[]): ReplicaFetchReply {
  return { partitions: results.map(({ data }) => data) }
}

/** There is something to read, or to be told. */
function enough(results: Result[], minBytes: number): boolean {
  let bytes = 0
  for (const { target, partition } of results) {
    if (partition === undefined || partition.notLedBecause !== undefined) return true
    if (partition.leaderEpoch !== target.currentLeaderEpoch) return true
    if (target.fetchOffset > partition.log.logEndOffset) return true
    bytes += availableBytes(partition.log, target.fetchOffset, 'log_end', target.maxBytes)
    if (bytes >= minBytes) return true
  }
  return false
}
