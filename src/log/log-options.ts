/** What a log is opened with, and whom it tells what becomes of it. */

import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import type { IndexCache } from './index-cache.ts'
import type { LogConfig } from './log-config.ts'

export interface LogOptions {
  storage: Storage
  /** Where its files are, below the root of the storage; the last name is `topic-partition`. */
  directory: string
  config: LogConfig
  env: Env
  platform: RecordsPlatform
  /** The last known high watermark; the log start offset by default. */
  highWatermark?: number
  /** The last known log start offset; where the first segment begins by default. */
  logStartOffset?: number
  /** Below it nothing has to be read: see `Log.recoveryPoint`. */
  recoveryPoint?: number
  /** All below was brought to the disk, and must be there: where it is not, the log is not opened, rather than cut. */
  flushedOffset?: number
  /** True when it was closed in good order, so that it ends at the recovery point: then not even its end is looked for. */
  wasClosed?: boolean
  /** True forgets producers that have no open transaction: whatever sequence they go on with is taken. */
  forgetProducers?: boolean
  /** True for what the broker needs to go on: it may grow beyond the limit of the storage. */
  exempt?: boolean
  /** Shared by the logs of a broker. */
  indexCache?: IndexCache
  listener?: LogListener
}

/** Who is told what becomes of a log. Called in the midst of whatever made it so: what follows from it is for a turn of its own. */
export interface LogListener {
  /** `Log.flushedOffset` has moved. */
  flushed?(): void
  /** The log failed: it neither takes nor gives anything any more. */
  failed?(failure: StorageFailure): void
  /** The log was cut: `Log.recoveryPoint` may be lower than it was. */
  truncated?(): void
  /** The log is to be cut at `offset`: what `Log.noteCut` returns. */
  cutting?(offset: number): Later<StorageFailure | undefined> | undefined
  /**
   * `Log.logStartOffset` has moved. Segments below it go once what is returned has settled: then it is known after a power cut, too, which
   * may bring some of them back. They go at once where nothing is returned.
   */
  logStartMoved?(): Later<StorageFailure | undefined> | undefined
  /** What is known on the disk of where the log begins: at least this offset; and what settles when that may be more. */
  notedLogStart?(): { offset: number; writing: Later<StorageFailure | undefined> | undefined }
  /** The log is compacted, and the cleaner may find something in it: it was opened, rolled or cut, or the config changed. */
  toClean?(): void
}
