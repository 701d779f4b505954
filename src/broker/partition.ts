import { toKafkaError } from '../log/append-error.ts'
import type { AppendResult, Log, LogListener } from '../log/log.ts'
import type { LogConfig } from '../log/log-config.ts'
import { type ErrorName, KafkaError } from '../protocol/errors.ts'
import { isShortOfRoom, StorageError, type StorageFailure } from '../storage/storage.ts'
import { assert } from '../util/assert.ts'
import { concat } from '../util/byte-writer.ts'
import type { TopicConfig } from './configs/topic-config.ts'
import type { IsrProposal, ReplicaFetchData, ReplicaFetchTarget } from './link.ts'
import type { PartitionImage } from './metadata/image.ts'
import { beginWithinBatch } from './replication/begin-within-batch.ts'
import { bringIntoRange, cutWhereDiverging, type NotYet } from './replication/cut-follower.ts'
import { type IsEligible, Leadership, type LeaderView } from './replication/leadership.ts'

/** What a client says that does not know the leader epoch. */
export const NO_LEADER_EPOCH = -1

/**
 * One partition as one of its brokers has it: whether it leads, how far its followers are, and where the high watermark
 * therefore stands (`kafka.cluster.Partition`). The bytes are the log's. It acts on what the broker was told.
 */
export interface PartitionOptions {
  readonly topic: string
  readonly topicId: string
  readonly image: PartitionImage
  readonly brokerId: number
  /** @throws {StorageError} when its files cannot be read */
  readonly openLog: (listener: LogListener) => Log
  /** Removes the log with its files, whether it was opened or not. */
  readonly deleteLog: () => void
  /** Called once when the log failed: this replica is offline, and whoever waits for it is to be told. */
  readonly failed: (partition: Partition) => void
  readonly config: () => TopicConfig
  /** Called when there may be more to read, or the high watermark moved, or the partition went. */
  readonly changed: () => void
  readonly now: () => number
  /** `replica.lag.time.max.ms`. */
  readonly lagTimeMaxMs: () => number
  readonly isEligible: IsEligible
  /** Asks the controller for the in-sync replicas that are proposed. */
  readonly askForIsr: (partition: Partition) => void
}

export class Partition {
  readonly topic: string
  readonly topicId: string
  readonly index: number
  /** Under which requests wait for this partition. */
  readonly key: string
  readonly #options: PartitionOptions
  readonly #brokerId: number
  readonly #changed: () => void
  #log: Log | undefined
  #image: PartitionImage
  /** What is known of the followers while this broker leads. */
  #leadership: Leadership | undefined
  #goneBecause: ErrorName | undefined
  #failure: StorageFailure | undefined
  /** `min.insync.replicas`, read once until it changes. */
  #minInsyncReplicas: number | undefined
  readonly #watermarkListeners = new Set<(offset: number) => void>()

  constructor(options: PartitionOptions) {
    this.topic = options.topic
    this.topicId = options.topicId
    this.index = options.image.partitionId
    this.key = `${options.topicId}-${this.index}`
    this.#options = options
    this.#brokerId = options.brokerId
    this.#changed = options.changed
    this.#image = options.image
    this.#takeOver(options.image)
  }

  /**
   * Opened when first asked for: a topic of a thousand partitions costs nothing until it is used.
   *
   * @throws KafkaError KAFKA_STORAGE_ERROR when this replica is offline
   */
  get log(): Log {
    assert(!this.gone, `${this.topic}-${this.index} is gone`)
    if (this.#failure !== undefined) throw new KafkaError('KAFKA_STORAGE_ERROR', this.#failure.message)
    return this.#log ?? this.#open()
  }

  #open(): Log {
    try {
      const listener = {
        flushed: () => this.#advanceStored(),
        failed: (failure: StorageFailure) => this.#fail(failure),
      }
      this.#log = this.#options.openLog(listener)
      this.#lead()
      this.#advance()
      return this.#log
    } catch (error) {
      if (error instanceof StorageError && !isShortOfRoom(error.code)) this.#fail(error)
      throw toKafkaError(error)
    }
  }

  /** Opens the log if it can be opened: for the broker's upkeep. What is wrong with it is told where it happens. */
  tryOpen(): boolean {
    try {
      return this.log !== undefined
    } catch (error) {
      if (error instanceof KafkaError) return false
      throw error
    }
  }

  /** Why this replica is offline; undefined as long as it is not. */
  get failure(): StorageFailure | undefined {
    return this.#failure
  }

  /** Where nothing can be relied on any more, nothing is served any more: the replica is offline until the broker starts again. */
  #fail({ code, message }: StorageFailure): void {
    if (this.#failure !== undefined || this.gone) return
    this.#failure = { code, message }
    this.#options.failed(this)
    this.#changed()
  }

  /** What this replica has of the log: what it has flushed, where the topic demands that of every write. */
  get storedOffset(): number {
    const { log } = this
    return log.config.flushMessages === 1 ? log.flushedOffset : log.logEndOffset
  }

  #advanceStored(): void {
    if (this.gone || this.#failure !== undefined || this.#log?.config.flushMessages !== 1) return
    this.#advance()
    this.#changed()
  }

  get isLeader(): boolean {
    return this.#image.leader === this.#brokerId
  }

  /** True once its topic was deleted, or its replica moved away. */
  get gone(): boolean {
    return this.#goneBecause !== undefined
  }

  /** What whoever needs the leader is told; undefined while this replica leads and its log is good. */
  get notLedBecause(): ErrorName | undefined {
    if (this.#goneBecause !== undefined) return this.#goneBecause
    if (this.#failure !== undefined) return 'KAFKA_STORAGE_ERROR'
    return this.isLeader ? undefined : 'NOT_LEADER_OR_FOLLOWER'
  }

  get image(): PartitionImage {
    return this.#image
  }

  get leaderEpoch(): number {
    return this.#image.leaderEpoch
  }

  /** The last that is known, once this replica is offline. */
  get highWatermark(): number {
    return this.#failure === undefined ? this.log.highWatermark : (this.#log?.highWatermark ?? 0)
  }

  /** The minimum that counts: never more than there are replicas. */
  get minInsyncReplicas(): number {
    this.#minInsyncReplicas ??= this.#options.config().number('min.insync.replicas')
    return Math.min(this.#minInsyncReplicas, this.#image.replicas.length)
  }

  /** In-sync replicas, with those that are being added to them. */
  get maximalIsr(): readonly number[] {
    return this.#leadership?.maximalIsr ?? this.#image.isr
  }

  /** What is known here of the followers, while this broker leads. */
  get leadership(): Leadership | undefined {
    return this.#leadership
  }

  /** Where the logs of all replicas that live begin, or later: what is below is deleted. */
  get lowWatermark(): number {
    const { logStartOffset } = this.log
    return this.#leadership?.lowWatermark(logStartOffset, id => this.#options.isEligible(id, -1)) ?? logStartOffset
  }

  /** True while a new leader does not know yet what its followers have: the high watermark may be higher than it seems. */
  get highWatermarkLags(): boolean {
    return this.#leadership !== undefined && this.log.highWatermark < this.#leadership.epochStartOffset
  }

  /** Configs of the topic changed. */
  reconfigure(logConfig: LogConfig): void {
    this.#minInsyncReplicas = undefined
    this.#log?.updateConfig(logConfig)
    if (this.openedLog !== undefined) this.#advance()
  }

  /** Takes over what the controller decided. */
  update(image: PartitionImage): void {
    this.#takeOver(image)
    if (this.openedLog !== undefined) {
      this.#lead()
      this.#advance()
    }
    this.#changed()
  }

  #takeOver(image: PartitionImage): void {
    this.#image = image
    if (!this.isLeader) this.#leadership = undefined
    else if (this.#leadership?.leaderEpoch === image.leaderEpoch) this.#leadership.update(image)
    else this.#leadership = new Leadership(this.#brokerId, image, this.#options.now())
  }

  /** A new leader notes where its epoch begins; a follower whose log has no epochs keeps only what is known to be replicated. */
  #lead(): void {
    const log = this.#log as Log
    if (this.#leadership === undefined) {
      if (log.latestEpoch < 0 && log.logEndOffset > log.highWatermark) log.truncateTo(log.highWatermark)
      return
    }
    log.trust()
    if (log.latestEpoch >= this.leaderEpoch) return
    this.#leadership.epochStartOffset = log.logEndOffset
    log.assignEpochStartOffset(this.leaderEpoch, log.logEndOffset)
  }

  /** The leader epoch that a client believes in, held against ours; −1 asks for no check. */
  checkLeaderEpoch(claimed: number): void {
    if (claimed === NO_LEADER_EPOCH || claimed === this.leaderEpoch) return
    throw new KafkaError(claimed < this.leaderEpoch ? 'FENCED_LEADER_EPOCH' : 'UNKNOWN_LEADER_EPOCH')
  }

  /**
   * Appends one batch as the leader. The bytes are patched in place (offset, epoch) and then copied into the log.
   *
   * @param requiredAcks −1 refuses when fewer replicas are in sync than the topic demands
   * @throws KafkaError when the batch is refused; nothing was appended then
   */
  append(
    records: Uint8Array,
    options: { now: number; origin: 'client' | 'coordinator'; produceVersion?: number; requiredAcks: number },
  ): AppendResult {
    if (!this.isLeader) throw new KafkaError('NOT_LEADER_OR_FOLLOWER')
    if (options.requiredAcks === -1 && this.#image.isr.length < this.minInsyncReplicas) {
      throw new KafkaError('NOT_ENOUGH_REPLICAS')
    }
    const result = this.log.appendAsLeader(records, { ...options, leaderEpoch: this.leaderEpoch })
    if (!result.duplicate) {
      this.#advance()
      this.#changed()
    }
    return result
  }

  /** Appends what the leader sent, and takes over its marks. @throws KafkaError when the records are not what comes next */
  appendAsFollower({ records, highWatermark, logStartOffset }: ReplicaFetchData): void {
    const { log } = this
    // What the leader has never changes: in the same process its followers may hold the same bytes.
    if (records.length > 0) {
      const bytes = records.length === 1 ? records[0] : concat(records)
      beginWithinBatch(log, bytes, logStartOffset)
      log.appendAsFollower(bytes, { leaderEpoch: this.leaderEpoch, immutable: true })
    }
    const moved = log.updateHighWatermark(highWatermark)
    if (logStartOffset > log.logStartOffset && logStartOffset <= log.highWatermark) {
      log.deleteRecordsBefore(logStartOffset)
    }
    if (moved || records.length > 0) this.#changed()
  }

  /** Where the log of somebody who has `lastFetchedEpoch` before `fetchOffset` left this one, if it did (KIP-595). */
  divergence(lastFetchedEpoch: number, fetchOffset: number): { epoch: number; endOffset: number } | undefined {
    if (lastFetchedEpoch < 0) return undefined
    const { leaderEpoch, endOffset } = this.log.endOffsetForEpoch(lastFetchedEpoch)
    if (leaderEpoch < 0 || endOffset < 0) throw new KafkaError('OFFSET_OUT_OF_RANGE')
    if (leaderEpoch >= lastFetchedEpoch && endOffset >= fetchOffset) return undefined
    return { epoch: leaderEpoch, endOffset }
  }

  /** Cuts a follower's log where it left the leader's, see {@link cutWhereDiverging}. */
  truncateWhereDiverging(end: { epoch: number; endOffset: number }): boolean | NotYet {
    const isCut = cutWhereDiverging(this.log, end)
    if (typeof isCut === 'boolean') this.#changed()
    return isCut
  }

  /** Brings a follower's log into the leader's, see {@link bringIntoRange}. */
  jumpIntoRange(leader: { logStartOffset: number; logEndOffset: number }): NotYet | undefined {
    const notYet = bringIntoRange(this.log, leader)
    if (notYet === undefined) this.#changed()
    return notYet
  }

  /**
   * A follower fetches, and so says how far it is: the high watermark may move, and the follower may be in sync now.
   *
   * @throws KafkaError when it is none of this partition's followers, as far as is known here
   */
  followerFetched(replicaId: number, brokerEpoch: number, { fetchOffset, logStartOffset }: ReplicaFetchTarget): void {
    const leadership = this.#leadership as Leadership
    const leader = this.#view()
    const { logEndOffset: leaderEndOffset, now } = leader
    const deletedBefore = leadership.progressOf(replicaId)?.logStartOffset
    if (!leadership.fetched(replicaId, brokerEpoch, { fetchOffset, logStartOffset, leaderEndOffset, now })) {
      throw new KafkaError('UNKNOWN_LEADER_EPOCH')
    }
    this.#propose(leadership.grown(replicaId, leader, this.#options.isEligible))
    this.#advance()
    // Somebody may wait for it to have deleted what it was to.
    if (logStartOffset !== deletedBefore) this.#changed()
  }

  /** In-sync replicas that have not kept up are to leave. */
  shrinkIsr(): void {
    if (this.#leadership?.hasFollowers && this.openedLog !== undefined)
      this.#propose(this.#leadership.shrunk(this.#view()))
  }

  #propose(isr: readonly number[] | undefined): void {
    if (isr === undefined) return
    this.#leadership?.propose(isr)
    this.#options.askForIsr(this)
  }

  /** What the controller is to be asked for, if anything is. */
  isrProposal(brokerEpoch: number): IsrProposal | undefined {
    const isr = this.#leadership?.proposed
    if (isr === undefined || this.gone || this.#failure !== undefined) return undefined
    const { leaderEpoch, partitionEpoch } = this.#image
    return {
      topicId: this.topicId,
      partitionId: this.index,
      leaderEpoch,
      partitionEpoch,
      isr: (this.#leadership as Leadership).withEpochs(isr, brokerEpoch),
      // To ask for followers says that an unclean election is over.
      leaderRecoveryState: 0,
    }
  }

  /** What was asked for of the partition in that epoch was refused, or changes nothing. */
  withdrawIsr(partitionEpoch: number): void {
    if (partitionEpoch !== this.#image.partitionEpoch) return
    this.#leadership?.withdraw()
    if (this.openedLog !== undefined) this.#advance()
  }

  /** Calls `listener` when the high watermark moved; the function returned ends that. */
  onHighWatermark(listener: (offset: number) => void): () => void {
    this.#watermarkListeners.add(listener)
    return () => this.#watermarkListeners.delete(listener)
  }

  /** Ends everything: the topic is deleted, or the replica is somewhere else. */
  delete(because: ErrorName = 'UNKNOWN_TOPIC_OR_PARTITION'): void {
    this.#goneBecause = because
    this.#leadership = undefined
    this.#watermarkListeners.clear()
    this.#log = undefined
    this.#options.deleteLog()
    this.#changed()
  }

  /** The log, if it was opened and is not offline. */
  get openedLog(): Log | undefined {
    return this.#failure === undefined ? this.#log : undefined
  }

  /** The same, offline or not, for onlookers who read no files. */
  get knownLog() {
    return this.#log
  }

  #view(): LeaderView {
    const { logEndOffset, highWatermark } = this.#log as Log
    return { logEndOffset, highWatermark, now: this.#options.now(), lagTimeMaxMs: this.#options.lagTimeMaxMs() }
  }

  /**
   * The high watermark is what every in-sync replica has (this one: see {@link storedOffset}). It stands still while fewer are in sync than the topic demands,
   * whatever the acks of the producers.
   */
  #advance(): void {
    const leadership = this.#leadership
    if (leadership === undefined || this.#image.isr.length < this.minInsyncReplicas) return
    const log = this.#log as Log
    if (log.highWatermark === log.logEndOffset) return
    let offset = this.storedOffset
    if (leadership.hasFollowers) {
      offset = Math.min(offset, leadership.highWatermark(this.#view(), this.#options.isEligible))
    }
    if (!log.updateHighWatermark(offset)) return
    for (const listener of this.#watermarkListeners) listener(offset)
    this.#changed()
  }
}
