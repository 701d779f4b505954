/**
 * Opens the segments that are in a directory and brings back what they add up to (Kafka's `LogLoader` and `LogSegment.recover`). What
 * lies below the recovery point is known to be whole and is not read; what lies behind it is read and checked, and ends where it is
 * broken. After a clean stop nothing lies behind it.
 */

import { LARGEST_OFFSET_DELTA } from '../core/compaction.ts'
import { checkBatch, readBatchHeader } from '../records/batch-header.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { RecordsError } from '../records/records-error.ts'
import { type Storage, StorageError } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { BatchScanner } from './batch-scanner.ts'
import { finishLeftovers } from './leftovers.ts'
import type { LocalLog } from './local-log.ts'
import { type LogState, markerOf } from './log-state.ts'
import type { Segment } from './segment.ts'
import { baseOffsetOf, offsetOf, TRANSACTION_INDEX_SUFFIX, withFile } from './segment-files.ts'
import { TRANSACTION_ENTRY_BYTES } from './transaction-index.ts'

/** Indexes hold offsets as int32, counted from where the segment begins. */

export interface LoadOptions {
  storage: Storage
  directory: string
  env: Env
  platform: RecordsPlatform
  local: LocalLog
  state: LogState
  /** What lies below was on the disk, with all that is made of it. */
  recoveryPoint: number
  /** Whether it is known to end there. */
  wasClosed: boolean
  /** See `LogOptions`. */
  logStartOffset?: number
  flushedOffset?: number
}

/** What a load came to. */
export interface Loaded {
  endOffset: number
  /** The recovery point that holds now. */
  recoveryPoint: number
  /** What was behind the end was cut off, and is there again after a power cut unless that comes to the disk. */
  wasCut?: boolean
  /** Where something may be missing: see `Log.doubtfulFrom`. */
  doubtfulFrom?: number
}

/**
 * Opens everything there is. Leaves no segment when there was none.
 *
 * @throws {StorageError} DAMAGED, before anything is cut off, when not all is there that must be
 */
export function loadLog(options: LoadOptions): Loaded {
  const loaded = load(options)
  demandFlushed(options, loaded.endOffset, options.directory, 'it is shorter than it was')
  return loaded
}

function demandFlushed({ flushedOffset = 0 }: LoadOptions, endOffset: number, where: string, reason: string): void {
  if (endOffset >= flushedOffset) return
  const missing = `offsets ${endOffset} to ${flushedOffset - 1} were on the disk and cannot be read`
  throw new StorageError('DAMAGED', `${where}: ${reason}; ${missing}`)
}

function load(options: LoadOptions): Loaded {
  const { storage, directory, env, local, state } = options
  const { segments } = local
  const names = finishLeftovers(storage, directory, env)
  const baseOffsets = names.map(baseOffsetOf).filter(offset => offset !== undefined)
  for (const baseOffset of baseOffsets) segments.add(baseOffset, local.config, false)
  state.snapshots.found(names)
  state.readEpochs()
  if (segments.count === 0) {
    state.snapshots.clear()
    return { endOffset: 0, recoveryPoint: 0 }
  }
  const recoveryPoint = Math.max(segments.first.baseOffset, trustedUpTo(options, names))
  if (isClosed(options, recoveryPoint)) return { endOffset: recoveryPoint, recoveryPoint }
  const recovery = new Recovery(options, recoveryPoint)
  let endOffset = recovery.run()
  if (endOffset >= recoveryPoint || storage.isVolatile)
    return { endOffset, recoveryPoint: Math.min(endOffset, recoveryPoint), ...recovery.findings }
  // The files are shorter than they were: what was known of them does not hold.
  env.log('warn', 'a log ends before its recovery point and is read anew', {
    path: directory,
    endOffset,
    recoveryPoint,
  })
  endOffset = new Recovery(options, segments.active.baseOffset).run()
  return { endOffset, recoveryPoint: Math.min(endOffset, segments.active.baseOffset), wasCut: true }
}

/** Whether there is nothing to be read at all: the log ends at its recovery point, where what is known of its producers was taken. */
function isClosed({ wasClosed, local, state, recoveryPoint: claimed }: LoadOptions, recoveryPoint: number): boolean {
  const { active } = local.segments
  if (!wasClosed || claimed !== recoveryPoint || recoveryPoint < active.baseOffset) return false
  if (active.size === 0 ? recoveryPoint !== active.baseOffset : recoveryPoint === active.baseOffset) return false
  return state.restoreProducers(recoveryPoint) === recoveryPoint
}

/** The recovery point, or where the first segment begins whose transaction index is broken: only reading makes that again. */
function trustedUpTo({ storage, directory, env, recoveryPoint }: LoadOptions, names: readonly string[]): number {
  let trusted = storage.isVolatile ? Number.MAX_SAFE_INTEGER : recoveryPoint
  for (const name of names) {
    const baseOffset = offsetOf(name, TRANSACTION_INDEX_SUFFIX)
    if (baseOffset === undefined || baseOffset >= trusted) continue
    const path = `${directory}/${name}`
    if (withFile(storage, path, file => file.size % TRANSACTION_ENTRY_BYTES === 0)) continue
    env.log('warn', 'a transaction index is broken and is made again', { path })
    trusted = Math.min(trusted, baseOffset)
  }
  return trusted
}

class Recovery {
  readonly #options: LoadOptions
  readonly #recoveryPoint: number
  #nextOffset = 0
  readonly findings: { wasCut: boolean; doubtfulFrom?: number } = { wasCut: false }

  constructor(options: LoadOptions, recoveryPoint: number) {
    this.#options = options
    this.#recoveryPoint = recoveryPoint
  }

  /** Returns where the log ends. */
  run(): number {
    const { local, state, storage } = this.#options
    const { segments } = local
    // Snapshots above may be of a history that is cut off.
    if (!storage.isVolatile) state.snapshots.truncateTo(this.#recoveryPoint)
    const snapshot = state.restoreProducers(this.#recoveryPoint) ?? segments.first.baseOffset
    // The last segment is always looked at, if only to find its end.
    const first = Math.min(segments.floor(Math.min(snapshot, this.#recoveryPoint)), segments.count - 1)
    for (let index = first; index < segments.count; index++) {
      const segment = segments.at(index)
      this.#nextOffset = Math.max(this.#nextOffset, segment.baseOffset)
      const isRecovered = index === segments.count - 1 || segments.at(index + 1).baseOffset > this.#recoveryPoint
      const isRemoved = this.#isRemoved(index)
      const mayEnd = isRecovered && !isRemoved
      const broken =
        this.#readSegment(segment, snapshot, isRecovered) ?? (mayEnd ? this.#gapBehind(segment, index) : undefined)
      if (broken !== undefined && mayEnd) {
        this.#cut(segment, index, broken)
        break
      }
      if (broken !== undefined) {
        // It was whole once: what is behind it is still good, and what cannot be read is not served.
        const fields = { path: segment.file.path, ...broken }
        const level = isRemoved ? 'info' : 'error'
        this.#options.env.log(level, 'a segment is corrupt: producers that wrote to it may be forgotten', fields)
      } else if (isRecovered && index < segments.count - 1) {
        segment.writeIndexes().whenSettled(() => segment.retire())
      }
    }
    return this.#nextOffset
  }

  /**
   * Whether all that a segment has lies below the log start offset: it was removed, and is there again since a power cut came before its
   * removal was on the disk. Its neighbours may be gone, or flushed no more; the log ends for none of that.
   */
  #isRemoved(index: number): boolean {
    const { local, logStartOffset = 0 } = this.#options
    const next = local.segments.count > index + 1 ? local.segments.at(index + 1) : undefined
    return next !== undefined && next.baseOffset <= logStartOffset
  }

  /** Reads the batches of a segment that were not taken in yet; returns where and why it is broken. */
  #readSegment(
    segment: Segment,
    snapshot: number,
    isRecovered: boolean,
  ): { position: number; reason: string } | undefined {
    const { state, platform } = this.#options
    const start = isRecovered ? segment.resumeAt(this.#recoveryPoint) : segment.size
    const scanner = new BatchScanner(segment.file, Math.min(start, this.#beginOf(segment, snapshot, start)))
    try {
      while (scanner.next()) {
        const { window, at, position } = scanner
        const batch = readBatchHeader(window, at)
        if (batch.lastOffset >= this.#recoveryPoint) checkBatch(window, at, platform.crc32c)
        // The checksum does not cover the offset, so it is believed only where an index could hold it.
        const isInRange = batch.lastOffset - segment.baseOffset <= LARGEST_OFFSET_DELTA
        if (batch.baseOffset < this.#nextOffset || batch.lastOffset < batch.baseOffset || !isInRange) {
          throw new RecordsError('CORRUPT_MESSAGE', `offset ${batch.baseOffset} where ${this.#nextOffset} is next`)
        }
        if (position >= start) segment.index(batch.lastOffset, batch.maxTimestamp, position, scanner.size)
        state.foundEpoch(batch)
        if (batch.baseOffset >= snapshot) state.apply(batch, markerOf(window, at, batch, platform), segment)
        this.#nextOffset = batch.lastOffset + 1
      }
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
      return { position: scanner.position, reason: error.message }
    }
    return undefined
  }

  /**
   * A segment that was not synced may have lost its end, or all it had, while the next one is there: what lies behind such a gap is no
   * part of the log any more. Only where records are compacted away do offsets stay out, here or at the leader's: there nobody can tell
   * from the files whether something is missing.
   */
  #gapBehind(segment: Segment, index: number): { position: number; reason: string } | undefined {
    const { segments, config } = this.#options.local
    if (index === segments.count - 1) return undefined
    const { baseOffset } = segments.at(index + 1)
    if (baseOffset === this.#nextOffset) return undefined
    if (config.compact) {
      this.findings.doubtfulFrom ??= this.#nextOffset
      return undefined
    }
    return { position: segment.size, reason: `it ends at ${this.#nextOffset}, and the next begins at ${baseOffset}` }
  }

  /** Where in a segment the batches begin that the snapshot of the producers does not know. */
  #beginOf(segment: Segment, snapshot: number, start: number): number {
    if (start === 0 || snapshot >= this.#recoveryPoint) return start
    if (snapshot <= segment.baseOffset) return 0
    try {
      return segment.positionOf(snapshot)
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
      return 0
    }
  }

  /** Ends the log at `position` of a segment. */
  #cut(segment: Segment, index: number, { position, reason }: { position: number; reason: string }): void {
    const { env, local } = this.#options
    const { segments } = local
    const path = segment.file.path
    const bytes = segment.size - position
    demandFlushed(this.#options, this.#nextOffset, `${path}, at position ${position}`, reason)
    env.log('warn', 'a segment is broken: the log ends there', { path, position, bytes, reason })
    this.findings.wasCut = true
    segment.truncateAt(position, this.#nextOffset)
    const later = segments.count - index - 1
    if (later === 0) return
    const lost = segments
      .all()
      .slice(index + 1)
      .reduce((sum, { size }) => sum + size, 0)
    env.log('warn', 'the segments behind a broken one are dropped', { path, segments: later, bytes: lost })
    segments.remove(index + 1, later, 0)
  }
}
