import type { AppendResult, Log } from '../log/log.ts'
import type { LogConfig } from '../log/log-config.ts'
import { KafkaError } from '../protocol/errors.ts'
import { assert } from '../util/assert.ts'
import type { TopicConfig } from './configs/topic-config.ts'
import type { PartitionImage } from './metadata/image.ts'

/** What a client says that does not know the leader epoch. */
export const NO_LEADER_EPOCH = -1

/**
 * One partition as one of its brokers has it: whether it leads, how far its followers are, and where the high watermark
 * therefore stands (`kafka.cluster.Partition`). The bytes are the log's. It acts on what the broker was told.
 */
export class Partition {
  readonly topic: string
  readonly topicId: string
  readonly index: number
  /** Under which requests wait for this partition. */
  readonly key: string
  readonly #brokerId: number
  readonly #openLog: () => Log
  readonly #changed: () => void
  readonly #config: () => TopicConfig
  #log: Log | undefined
  #image: PartitionImage
  #gone = false
  /** `min.insync.replicas`, read once until it changes. */
  #minInsyncReplicas: number | undefined
  readonly #watermarkListeners = new Set<(offset: number) => void>()
  /** How far each follower's log reaches, as its fetches said. */
  readonly #followers = new Map<number, number>()

  constructor(options: {
    topic: string
    topicId: string
    image: PartitionImage
    brokerId: number
    openLog: () => Log
    config: () => TopicConfig
    /** Called when there may be more to read, or the high watermark moved, or the partition went. */
    changed: () => void
  }) {
    this.topic = options.topic
    this.topicId = options.topicId
    this.index = options.image.partitionId
    this.key = `${options.topicId}-${this.index}`
    this.#brokerId = options.brokerId
    this.#openLog = options.openLog
    this.#config = options.config
    this.#changed = options.changed
    this.#image = options.image
  }

  /** Opened when first asked for: a topic of a thousand partitions costs nothing until it is used. */
  get log(): Log {
    assert(!this.#gone, `${this.topic}-${this.index} is gone`)
    if (this.#log === undefined) {
      this.#log = this.#openLog()
      if (this.isLeader) this.#log.assignEpochStartOffset(this.#image.leaderEpoch, this.#log.logEndOffset)
      this.#advance()
    }
    return this.#log
  }

  get isLeader(): boolean {
    return this.#image.leader === this.#brokerId
  }

  /** True once its topic was deleted. */
  get gone(): boolean {
    return this.#gone
  }

  get image(): PartitionImage {
    return this.#image
  }

  get leaderEpoch(): number {
    return this.#image.leaderEpoch
  }

  get highWatermark(): number {
    return this.log.highWatermark
  }

  /** The minimum that counts: never more than there are replicas. */
  get minInsyncReplicas(): number {
    this.#minInsyncReplicas ??= this.#config().number('min.insync.replicas')
    return Math.min(this.#minInsyncReplicas, this.#image.replicas.length)
  }

  /** Configs of the topic changed. */
  reconfigure(logConfig: LogConfig): void {
    this.#minInsyncReplicas = undefined
    this.#log?.updateConfig(logConfig)
  }

  /** Takes over what the controller decided. */
  update(image: PartitionImage): void {
    const newEpoch = image.leaderEpoch > this.#image.leaderEpoch
    this.#image = image
    if (this.#log !== undefined && newEpoch && this.isLeader) {
      this.#log.assignEpochStartOffset(image.leaderEpoch, this.#log.logEndOffset)
    }
    if (this.#log !== undefined) this.#advance()
    this.#changed()
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

  /** Calls `listener` when the high watermark moved; the function returned ends that. */
  onHighWatermark(listener: (offset: number) => void): () => void {
    this.#watermarkListeners.add(listener)
    return () => this.#watermarkListeners.delete(listener)
  }

  /** Ends everything: the topic is deleted. */
  delete(): void {
    this.#gone = true
    this.#watermarkListeners.clear()
    this.#log?.delete()
    this.#log = undefined
    this.#changed()
  }

  /** For the broker's upkeep: the log, if it was opened. */
  get openedLog(): Log | undefined {
    return this.#log
  }

  /**
   * The high watermark is what every in-sync replica has. It stands still while fewer are in sync than the topic demands,
   * whatever the acks of the producers.
   */
  #advance(): void {
    if (!this.isLeader || this.#image.isr.length < this.minInsyncReplicas) return
    const log = this.#log as Log
    let offset = log.logEndOffset
    for (const replica of this.#image.isr) {
      if (replica !== this.#brokerId) offset = Math.min(offset, this.#followers.get(replica) ?? log.highWatermark)
    }
    if (!log.updateHighWatermark(offset)) return
    for (const listener of this.#watermarkListeners) listener(offset)
    this.#changed()
  }
}
