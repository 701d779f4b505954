/**
 * How a log comes to the disk, and how far it has: when it is flushed (`flush.messages`, `flush.ms`, rolled segments, checkpoints),
 * and its recovery point, below which nothing has to be read after a crash, because not only the batches are on the disk but also
 * what is made of them: indexes, producers, epochs (the `flush` and the recovery point of Kafka's `UnifiedLog` and `LocalLog`). Nothing
 * of this concerns a storage that is gone with the process.
 */

import { isShortOfRoom, type Storage, type StorageFailure } from '../storage/storage.ts'
import { allOf } from '../storage/syncs.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import { Flushes } from './flushes.ts'
import type { LocalLog } from './local-log.ts'
import { UNLIMITED } from './log-config.ts'
import type { LogState } from './log-state.ts'
import type { Segment } from './segment.ts'

type Result = StorageFailure | undefined

export interface DurabilityOptions {
  storage: Storage
  env: Env
  local: LocalLog
  state: LogState
  directory: string
  topicPartition: string
  /** See `LogListener`. */
  flushed?(): void
  failed?(failure: StorageFailure): void
}

export class Durability {
  readonly #options: DurabilityOptions
  readonly #isVolatile: boolean
  readonly #flushes: Flushes
  /** Segments that are written to no more and whose indexes are not on the disk yet. */
  readonly #rolled = new Set<Segment>()
  #recoveryPoint = 0
  /** Where the recovery point will be once the steps under way are done: less than they began with once the log was cut. */
  readonly #goals = new Set<{ endOffset: number }>()
  #stepping: Later<Result> | undefined
  #timer: Timer | undefined

  constructor(options: DurabilityOptions) {
    const { storage, env, local, topicPartition } = options
    this.#options = options
    this.#isVolatile = storage.isVolatile
    this.#flushes = new Flushes({
      turns: env.turns,
      filesBetween: (from, to) => local.segments.filesBetween(from, to, local.endOffset),
      syncNames: () => storage.syncDirectory(options.directory),
      flushed: options.flushed,
      failed: failure => {
        env.log('error', 'a log failed and is offline', { partition: topicPartition, error: failure.message })
        options.failed?.(failure)
      },
    })
  }

  /** What lies below survives a power cut. */
  get flushedOffset(): number {
    return this.#isVolatile ? this.#options.local.endOffset : this.#flushes.offset
  }

  /** What lies below has not to be read when the log is opened again. */
  get recoveryPoint(): number {
    return this.#recoveryPoint
  }

  /** Why nothing can be relied on any more. */
  get failure(): Result {
    return this.#flushes.failure
  }

  /** Nothing can be relied on any more: the log is offline. */
  fail(failure: StorageFailure): void {
    this.#flushes.fail(failure)
  }

  /** The log was opened: what lies below `recoveryPoint` was on the disk already, the rest is taken to be not. */
  loaded(recoveryPoint: number): void {
    this.#recoveryPoint = recoveryPoint
    this.#flushes.skipTo(recoveryPoint)
    // What a process before had only written counts again once it is flushed, and nothing may ever be appended here.
    this.appended()
  }

  /** Something was appended: begins to flush when the config says so. */
  appended(): void {
    if (this.#isVolatile) return
    const { local, env } = this.#options
    const { flushMessages, flushMs } = local.config
    if (local.endOffset - this.#flushes.offset >= flushMessages) return this.#flushes.request(local.endOffset)
    if (flushMs >= UNLIMITED || this.#timer !== undefined) return
    this.#timer = env.timer(flushMs, () => {
      this.#timer = undefined
      this.#flushes.request(local.endOffset)
    })
  }

  /** A segment was ended at `endOffset`: it comes to the disk, and then the recovery point moves up to there. */
  rolled(segment: Segment, endOffset: number): void {
    const { state, local } = this.#options
    const snapshot = state.snapshots.write(endOffset, state.producers.all())
    state.snapshots.prune(local.segments.baseOffsets())
    this.#rolled.add(segment)
    this.#step(endOffset, [snapshot])
  }

  /** Settles once everything appended so far would survive a power cut; after a failure it fails for ever. */
  flush(): Later<Result> {
    const { local, env } = this.#options
    return this.#isVolatile ? Later.of<Result>(env.turns, undefined) : this.#flushes.flush(local.endOffset)
  }

  /** Brings everything to the disk and moves the recovery point up to the present log end. Settles once that is done. */
  checkpoint(): Later<Result> {
    const { local, state, env } = this.#options
    const { endOffset } = local
    const isDone = endOffset === this.#recoveryPoint && this.#rolled.size === 0 && this.#stepping === undefined
    if (this.#isVolatile || isDone || this.failure !== undefined) return Later.of(env.turns, this.failure)
    const snapshot = state.snapshots.write(endOffset, state.producers.all())
    const step = this.#step(endOffset, [snapshot, local.segments.active.writeIndexes()])
    step.whenSettled(failure => {
      if (failure === undefined) state.snapshots.prune(local.segments.baseOffsets())
    })
    return step
  }

  /** Moves the recovery point to `endOffset` once `parts`, the batches and all steps before are on the disk. */
  #step(endOffset: number, parts: readonly Later<Result>[]): Later<Result> {
    const { env, state } = this.#options
    const segments = [...this.#rolled]
    const indexes = segments.map(segment => segment.writeIndexes())
    const goal = { endOffset }
    this.#goals.add(goal)
    const batches = this.#isVolatile ? [] : [this.#flushes.flush(endOffset), state.writeEpochs()]
    const before = this.#stepping === undefined ? [] : [this.#stepping]
    const step = allOf(env.turns, [...batches, ...indexes, ...parts, ...before]).map(failure => {
      if (this.#stepping === step) this.#stepping = undefined
      this.#goals.delete(goal)
      if (failure === undefined) {
        for (const segment of segments) if (this.#rolled.delete(segment)) segment.retire()
        this.#recoveryPoint = Math.max(this.#recoveryPoint, goal.endOffset)
      } else if (isShortOfRoom(failure.code)) {
        env.log('warn', 'a log cannot be made safe for a restart: it will have to be read then', {
          partition: this.#options.topicPartition,
          error: failure.message,
        })
      } else this.fail(failure)
      return failure
    })
    this.#stepping = step
    return step
  }

  /** The log begins at `baseOffset` now: segments before were removed. */
  dropped(baseOffset: number): void {
    if (!this.#isVolatile) this.#flushes.dropped(baseOffset)
  }

  /** The log may be cut at `offset`: what lies behind it is to be read when it is opened again. */
  lowerRecoveryPoint(offset: number): void {
    this.#recoveryPoint = Math.min(this.#recoveryPoint, offset)
    for (const goal of this.#goals) goal.endOffset = Math.min(goal.endOffset, offset)
  }

  /** The log was cut to `endOffset`. */
  truncated(endOffset: number): void {
    if (this.#isVolatile) return
    this.#flushes.truncate(endOffset)
    this.#flushes.request(endOffset)
    this.lowerRecoveryPoint(endOffset)
    for (const segment of this.#rolled)
      if (!this.#options.local.segments.all().includes(segment)) this.#rolled.delete(segment)
    // What was ended is the active one again.
    this.#rolled.delete(this.#options.local.segments.active)
  }

  /** A checkpoint, unless the log has failed; then nothing happens any more. */
  close(): Later<Result> {
    this.cancel()
    return this.checkpoint()
  }

  /** Nothing is flushed by itself any more. */
  cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
