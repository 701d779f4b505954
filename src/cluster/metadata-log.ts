/**
 * Where the controller keeps what it decided: a log like any other, of which there is one copy, and snapshots that take the place
 * of its beginning. As Kafka's Raft log it is flushed whatever the topics are set to: a decision counts once it is on the disk.
 */

import { replayLog } from '../broker/replay-log.ts'
import type { CoordinatorLog, CoordinatorRecord } from '../coordinator/ports.ts'
import { Log } from '../log/log.ts'
import { DEFAULT_LOG_CONFIG, UNLIMITED } from '../log/log-config.ts'
import { METADATA_DIRECTORY } from '../log/root-files.ts'
import { KafkaError } from '../protocol/errors.ts'
import { buildBatch } from '../records/batch-builder.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { type Storage, StorageError, type StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { FlushedOffset, readFlushedOffset } from './flushed-offset.ts'
import { MetadataSnapshots, type Snapshot } from './metadata-snapshots.ts'

/** A snapshot is due after this many bytes of records, or as many as the last one took: so that writing them stays cheap. */
const SNAPSHOT_BYTES = 1024 * 1024

export interface MetadataLogOptions {
  readonly env: Env
  readonly storage: Storage
  readonly platform: RecordsPlatform
  /** See {@link SNAPSHOT_BYTES}; 1 MiB by default. */
  readonly snapshotBytes?: number
  /** Told once when the log cannot be brought to the disk: nothing can be decided any more. */
  readonly onFailure?: (failure: StorageFailure) => void
}

export function openMetadataLog(options: MetadataLogOptions): MetadataLog {
  return new MetadataLog(options)
}

export class MetadataLog implements CoordinatorLog {
  readonly #options: MetadataLogOptions
  readonly #log: Log
  readonly #snapshots: MetadataSnapshots
  readonly #flushed: FlushedOffset
  /** Until it is replayed. */
  #newest: Snapshot | undefined
  readonly #listeners = new Set<(highWatermark: number) => void>()
  /** Bytes of records since the last snapshot, and how large that was. */
  #bytesSince = 0
  #lastSnapshotBytes = 0
  #writingSnapshot = false
  #flushing = false
  #isReplayed = false
  #failure: StorageFailure | undefined

  /** @throws StorageError DAMAGED when decisions that were on the disk cannot be read any more; nothing is cut off then */
  constructor(options: MetadataLogOptions) {
    this.#options = options
    const { env, storage, platform } = options
    const place = { env, storage, platform, directory: METADATA_DIRECTORY }
    this.#snapshots = new MetadataSnapshots(place)
    this.#newest = this.#snapshots.newest()
    this.#flushed = new FlushedOffset(place)
    const flushedOffset = readFlushedOffset(storage, METADATA_DIRECTORY, platform.crc32c) ?? 0
    this.#log = Log.open({
      env,
      storage,
      platform,
      directory: METADATA_DIRECTORY,
      // When all room is used up, a topic must still be deletable.
      exempt: true,
      // An append fails in the midst of whoever decides: what follows is for a turn of its own.
      listener: { failed: failure => this.#logFailed(failure) },
      // What a snapshot takes in need not be in the log.
      flushedOffset: flushedOffset > (this.#newest?.endOffset ?? 0) ? flushedOffset : 0,
      config: {
        ...DEFAULT_LOG_CONFIG,
        retentionMs: -1,
        delete: false,
        maxMessageBytes: UNLIMITED,
        fileDeleteDelayMs: 0,
      },
    })
    this.#log.updateHighWatermark(this.#log.logEndOffset)
  }

  append(records: readonly CoordinatorRecord[], now: number): number {
    if (this.#failure) throw new KafkaError('KAFKA_STORAGE_ERROR', this.#failure.message)
    const batch = buildBatch({
      records: records.map(({ key, value }) => ({ key, value, timestamp: now })),
      crc32c: this.#options.platform.crc32c,
    })
    this.#log.appendAsLeader(batch, { leaderEpoch: 0, now, origin: 'coordinator' })
    this.#bytesSince += batch.length
    // In memory what is appended is as safe as it will ever be.
    if (this.#options.storage.isVolatile) this.#log.updateHighWatermark(this.#log.logEndOffset)
    else this.#flush()
    return this.#log.logEndOffset
  }

  /** One flush at a time; it covers all that was decided by the time it begins. */
  #flush(): void {
    if (this.#flushing || this.#failure) return
    this.#flushing = true
    const endOffset = this.#log.logEndOffset
    this.#log.flush().whenSettled(failure => {
      this.#flushing = false
      if (failure) return
      this.#log.updateHighWatermark(endOffset)
      this.#flushed.note(endOffset)
      for (const listener of this.#listeners) listener(this.highWatermark)
      if (this.#log.logEndOffset > endOffset) this.#flush()
    })
  }

  #logFailed(failure: StorageFailure): void {
    // Whoever replays hears of it from what is thrown.
    if (this.#isReplayed) this.#options.env.turns.enqueue(() => this.#failed(failure))
  }

  #failed(failure: StorageFailure): void {
    if (this.#failure !== undefined) return
    this.#failure = failure
    this.#options.env.log('error', 'the metadata cannot be brought to the disk', { error: failure.message })
    this.#options.onFailure?.(failure)
  }

  get highWatermark(): number {
    return this.#log.highWatermark
  }

  onHighWatermark(listener: (highWatermark: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Visits the records of the newest snapshot, as if they were the last before its end, and those of the log behind it. */
  replay(visit: (record: CoordinatorRecord, offset: number) => void): void {
    const snapshot = this.#newest
    this.#newest = undefined
    const from = snapshot?.endOffset ?? 0
    if (this.#log.logStartOffset > from) {
      const missing = `${METADATA_DIRECTORY} begins at ${this.#log.logStartOffset}, and its snapshot ends at ${from}`
      throw new StorageError('DAMAGED', missing)
    }
    for (const record of snapshot?.records ?? []) visit(record, from - 1)
    this.#lastSnapshotBytes = snapshot?.sizeInBytes ?? 0
    this.#bytesSince = 0
    // What a snapshot takes in was decided, so that no other decision may have its offset.
    if (this.#log.logEndOffset < from) this.#log.truncateFullyAndStartAt(from)
    this.#replayFrom(from, visit)
    this.#isReplayed = true
    // A process that was killed may have left it in the cache of the system only, and what is built on it now must not outlive it.
    if (!this.#options.storage.isVolatile) this.#flush()
  }

  #replayFrom(from: number, visit: (record: CoordinatorRecord, offset: number) => void): void {
    const counted = (record: CoordinatorRecord, offset: number) => {
      this.#bytesSince += record.value?.length ?? 0
      visit(record, offset)
    }
    try {
      replayLog(this.#log, this.#options.platform, counted, from)
    } catch (error) {
      // Whoever starts on a directory is told of it as of all else that cannot be read there.
      const { failure } = this.#log
      throw failure === undefined ? error : new StorageError(failure.code, failure.message)
    }
  }

  /** True when enough was decided since the last snapshot. */
  get snapshotDue(): boolean {
    const enough = Math.max(this.#options.snapshotBytes ?? SNAPSHOT_BYTES, this.#lastSnapshotBytes)
    return this.#bytesSince >= enough && !this.#writingSnapshot && this.#failure === undefined
  }

  /** Takes a snapshot: `records` are what everything that was appended adds up to. The log before it goes once it is written. */
  takeSnapshot(records: Iterable<CoordinatorRecord>): void {
    this.#writingSnapshot = true
    this.#bytesSince = 0
    const { sizeInBytes, written } = this.#snapshots.write(this.#log.logEndOffset, records)
    this.#lastSnapshotBytes = sizeInBytes
    this.#roll()
    written.whenSettled(failure => {
      this.#writingSnapshot = false
      if (failure) {
        this.#options.env.log('warn', 'cannot write a snapshot of the metadata', { error: failure.message })
        return
      }
      this.#dropBefore(Math.min(this.#snapshots.removeOld(), this.highWatermark))
    })
  }

  /** The log before a snapshot can go as a file of its own; where there is none, it goes after the next one. */
  #roll(): void {
    try {
      this.#log.roll()
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      this.#options.env.log('warn', 'cannot begin another segment of the metadata', { error: error.message })
    }
  }

  #dropBefore(offset: number): void {
    if (offset <= this.#log.logStartOffset) return
    this.#log.deleteRecordsBefore(offset)
    this.#log.applyRetention(this.#options.env.now())
  }

  /** Flushes and closes it; what comes after is refused. */
  close(): Later<StorageFailure | undefined> {
    const closed = new Later<StorageFailure | undefined>(this.#options.env.turns)
    const endOffset = this.#log.logEndOffset
    this.#log.close().whenSettled(failure => {
      if (failure) return void closed.settle(failure)
      this.#flushed.note(endOffset)
      // Without the note nothing is wrong: less is known the next time.
      this.#flushed.close().whenSettled(() => closed.settle(undefined))
    })
    this.#failure ??= { code: 'IO', message: 'the metadata log is closed' }
    return closed
  }
}
