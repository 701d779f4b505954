import type { Log } from '../../log/log.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { StorageFailure } from '../../storage/storage.ts'
import type { Env } from '../../util/env.ts'
import type { Later } from '../../util/later.ts'
import type { Timer } from '../../util/timer-queue.ts'
import type { BrokerConfig } from '../configs/broker-config.ts'
import type { Link, ReplicaFetchData, ReplicaFetchTarget } from '../link.ts'
import type { Partition } from '../partition.ts'
import { keyOf, ToldTargets } from './replica-fetch-session.ts'

/**
 * Fetches from one leader for all partitions that it leads and this broker follows (Kafka's `ReplicaFetcherThread`): one fetch at a time,
 * the next as soon as the answer is worked in. A log that went another way is cut where the leader says (KIP-320, KIP-595).
 */

export interface FetcherContext {
  readonly brokerId: number
  readonly brokerEpoch: () => number
  /** Whether the metadata that this broker knows goes as far as its registration, by which it may have left in-sync replicas. */
  readonly knowsRegistration: () => boolean
  readonly env: Env
  readonly config: BrokerConfig
  readonly link: Link
}

/** Numbers that no other fetch of this broker has. */
type NextNumber = () => number

/** A partition that is followed. */
interface Followed {
  readonly partition: Partition
  readonly leaderEpoch: number
  /** After an error it is left out for a while. */
  isResting: boolean
  /** Where its log begins is being written down, and then the leader is told. */
  isNotingStart: boolean
}

export class ReplicaFetcher {
  readonly #leaderId: number
  readonly #context: FetcherContext
  readonly #nextNumber: NextNumber
  readonly #followed = new Map<string, Followed>()
  /** The number of the fetch that is under way: answers to others are too late. */
  #current = 0
  #begun = false
  readonly #told = new ToldTargets()
  readonly #rests = new Set<Timer>()
  #stopped = false

  constructor(leaderId: number, context: FetcherContext, nextNumber: NextNumber) {
    this.#leaderId = leaderId
    this.#nextNumber = nextNumber
    this.#context = context
  }

  get isIdle(): boolean {
    return this.#followed.size === 0
  }

  /** Follows the leader of a partition, in the epoch that the partition is in. */
  add(partition: Partition): void {
    const known = this.#followed.get(partition.key)
    const { leaderEpoch } = partition
    if (known?.partition === partition && known.leaderEpoch === leaderEpoch) return
    this.#followed.set(partition.key, { partition, leaderEpoch, isResting: false, isNotingStart: false })
    this.#beginSoon()
  }

  remove(key: string): void {
    this.#followed.delete(key)
  }

  stop(): void {
    this.#stopped = true
    for (const timer of this.#rests) timer.cancel()
    this.#followed.clear()
  }

  /** What is added in one go is fetched in one go; a fetch that waits at the leader is replaced by the new one. */
  #beginSoon(): void {
    if (this.#begun) return
    this.#begun = true
    this.#context.env.turns.enqueue(() => {
      this.#begun = false
      this.#fetch()
    })
  }

  #fetch(): void {
    if (this.#stopped) return
    const { config, link } = this.#context
    const targets = this.#targets()
    if (targets.size === 0) return
    const number = this.#nextNumber()
    this.#current = number
    const request = {
      number,
      replicaId: this.#context.brokerId,
      brokerEpoch: this.#context.brokerEpoch(),
      maxWaitMs: config.number('replica.fetch.wait.max.ms'),
      minBytes: config.number('replica.fetch.min.bytes'),
      maxBytes: config.number('replica.fetch.response.max.bytes'),
      ...this.#told.tell(number, targets),
    }
    const timeoutMs = config.number('replica.socket.timeout.ms')
    link.sendToPeer(this.#leaderId, 'fetch', request, timeoutMs).whenSettled(reply => {
      if (number !== this.#current || this.#stopped) return
      if (reply === undefined) this.#backOff([...this.#followed.values()])
      if (reply === undefined || reply.isUnknown) this.#told.forget()
      for (const data of reply?.partitions ?? []) this.#work(data, targets.get(keyOf(data)))
      this.#fetch()
    })
  }

  /** What is asked for now, by the keys of the partitions. */
  #targets(): Map<string, ReplicaFetchTarget> {
    const targets = new Map<string, ReplicaFetchTarget>()
    for (const [key, followed] of this.#followed) {
      const target = followed.isResting ? undefined : this.#targetOf(followed)
      if (target !== undefined) targets.set(key, target)
    }
    return targets
  }

  /** By the clock of those who live in the same time: when this broker's is set back, nobody waits for it to come round again. */
  #backOff(followed: Followed[]): void {
    const { env, config } = this.#context
    for (const each of followed) each.isResting = true
    const rested = () => {
      this.#rests.delete(timer)
      for (const each of followed) each.isResting = false
      this.#fetch()
    }
    const timer = env.timer(config.number('replica.fetch.backoff.ms'), rested, 'client')
    this.#rests.add(timer)
  }

  /** Undefined when the log cannot be had, or has to be flushed first. */
  #targetOf(followed: Followed): ReplicaFetchTarget | undefined {
    const { partition, leaderEpoch } = followed
    const log = this.#logOf(followed)
    if (log === undefined) return undefined
    if (partition.storedOffset < log.logEndOffset) {
      // The next fetch says that this replica has everything before it: it has to be true first.
      log.flush().whenSettled(() => this.#beginSoon())
      return undefined
    }
    this.#askAgainOnceStartIsNoted(followed, log)
    return {
      topicId: partition.topicId,
      partitionId: partition.index,
      currentLeaderEpoch: leaderEpoch,
      fetchOffset: log.logEndOffset,
      lastFetchedEpoch: log.latestEpoch,
      // The leader takes what lies before it for deleted here, for good.
      logStartOffset: log.durableStartOffset,
      highWatermark: log.highWatermark,
      maxBytes: this.#context.config.number('replica.fetch.max.bytes'),
    }
  }

  /** The log, without what may be missing something. */
  #logOf(followed: Followed): Log | undefined {
    const { partition } = followed
    try {
      const { log } = partition
      if (log.doubtfulFrom === undefined) return log
      // By what was so long ago it may be in sync, and come to lead with what it has.
      if (!this.#context.knowsRegistration()) {
        this.#backOff([followed])
        return undefined
      }
      // Behind the recovery point: nothing has to be written down before that may be cut.
      log.truncateTo(log.doubtfulFrom)
      return log
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      // Where there was no room for it there may be some later.
      if (partition.failure === undefined) this.#complain(followed, error.message)
      return undefined
    }
  }

  /** Somebody may wait to hear that what was deleted is deleted here, too (DeleteRecords): no longer than a disk takes for it. */
  #askAgainOnceStartIsNoted(followed: Followed, { notingStart }: Log): void {
    if (followed.isNotingStart || notingStart === undefined) return
    followed.isNotingStart = true
    notingStart.whenSettled(() => {
      followed.isNotingStart = false
      this.#beginSoon()
    })
  }

  #work(data: ReplicaFetchData, asked: ReplicaFetchTarget | undefined): void {
    const followed = this.#followed.get(keyOf(data))
    // Since it was asked for, it was given up, or follows in another epoch, or was cut.
    if (followed === undefined || asked === undefined) return
    const { partition, leaderEpoch } = followed
    if (leaderEpoch !== asked.currentLeaderEpoch || !partition.tryOpen()) return
    if (partition.openedLog?.logEndOffset !== asked.fetchOffset) return
    try {
      this.#apply(followed, data)
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      this.#complain(followed, error.message)
    }
  }

  #apply(followed: Followed, data: ReplicaFetchData): void {
    const { partition } = followed
    switch (data.error) {
      case 'NONE': {
        if (data.divergingEpoch === undefined) return partition.appendAsFollower(data)
        const isCut = partition.truncateWhereDiverging(data.divergingEpoch)
        if (typeof isCut === 'object') this.#restUntil(isCut, followed)
        // Without any progress it would ask the same again at once.
        else if (!isCut) this.#backOff([followed])
        return
      }
      case 'OFFSET_OUT_OF_RANGE': {
        const notYet = partition.jumpIntoRange(data)
        if (notYet !== undefined) this.#restUntil(notYet, followed)
        return
      }
      case 'FENCED_LEADER_EPOCH':
        // The leader is further: the metadata that says so is on its way, and brings this partition back.
        if (followed.leaderEpoch === partition.leaderEpoch) this.#backOff([followed])
        return
      default:
        // The leader may not know yet that it leads, or that this broker is a replica.
        this.#backOff([followed])
    }
  }

  /** Something has to be written down before the log may be cut: then the leader is asked again, who says the same if nothing has changed. */
  #restUntil(written: Later<StorageFailure | undefined>, followed: Followed): void {
    followed.isResting = true
    written.whenSettled(failure => {
      if (failure !== undefined) return this.#backOff([followed])
      followed.isResting = false
      if (!this.#stopped) this.#beginSoon()
    })
  }

  #complain(followed: Followed, reason: string): void {
    const { topic, index } = followed.partition
    const { env } = this.#context
    env.log('warn', 'cannot follow', { partition: `${topic}-${index}`, leader: this.#leaderId, reason })
    this.#backOff([followed])
  }
}
