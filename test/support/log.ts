// A log in memory on a clock that stands still, and short ways to make batches for it. For the tests beside the log.

import type { IndexCache } from '../../src/log/index-cache.ts'
import { Log, type LogConfig, type LogListener, type LogOptions } from '../../src/log/log.ts'
import { DEFAULT_LOG_CONFIG } from '../../src/log/log-config.ts'
import { nodeCompression } from '../../src/node/codecs.ts'
import { nodeCrc32c } from '../../src/node/crc32c.ts'
import { KafkaError } from '../../src/protocol/errors.ts'
import { type BatchInput, buildBatch, type RecordInput } from '../../src/records/batch-builder.ts'
import { eachBatch } from '../../src/records/batch-header.ts'
import { type RecordData, readRecords } from '../../src/records/batch-reader.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'

export const platform = { crc32c: nodeCrc32c, compression: nodeCompression }

export interface LogFixture {
  env: VirtualEnv
  storage: MemoryStorage
  log: Log
  /** Opens the same directory again, as after a crash or a stop, with the log start offset that it had last. */
  reopen(options?: Partial<LogOptions>): Log
}

export interface LogFixtureOptions {
  maxBytes?: number
  env?: VirtualEnv
  /** True for a storage that outlives the process, as a disk does: then a log has index files and a recovery point. */
  durable?: boolean
  storage?: MemoryStorage
  listener?: LogListener
  indexCache?: IndexCache
}

export function makeLog(config: Partial<LogConfig> = {}, options: LogFixtureOptions = {}): LogFixture {
  const env = options.env ?? new VirtualEnv()
  const storage = options.storage ?? new MemoryStorage({ turns: env.turns, maxBytes: options.maxBytes })
  if (options.durable) Object.defineProperty(storage, 'isVolatile', { value: false })
  const full = { ...DEFAULT_LOG_CONFIG, ...config }
  const { listener, indexCache } = options
  let log: Log | undefined
  const open = (more: Partial<LogOptions> = {}) => {
    const logStartOffset = log?.logStartOffset
    log = Log.open({
      storage,
      directory: 't-0',
      config: full,
      env,
      platform,
      listener,
      indexCache,
      logStartOffset,
      ...more,
    })
    return log
  }
  return {
    env,
    storage,
    log: open(),
    reopen(more) {
      env.settle()
      return open(more)
    },
  }
}

/** A batch of text values, or of records as given; times are those of a fresh fixture's clock unless given. */
export function batchOf(values: (string | RecordInput)[], more: Omit<BatchInput, 'records'> = {}): Uint8Array {
  const records = values.map(value =>
    typeof value === 'string'
      ? { value: utf8Encode(value), timestamp: 1_700_000_000_000 }
      : { timestamp: 1_700_000_000_000, ...value },
  )
  return buildBatch({ records, compression: platform.compression, ...more })
}

/** Appends as a client does, and lets the high watermark follow. */
export function append(log: Log, batch: Uint8Array, options: { leaderEpoch?: number; now?: number } = {}) {
  const { leaderEpoch = 0, now = 1_700_000_000_000 } = options
  const result = log.appendAsLeader(batch, { leaderEpoch, now, origin: 'client' })
  log.updateHighWatermark(log.logEndOffset)
  return result
}

/** All records from `offset` on, those before it in its batch too. */
export function readAll(log: Log, offset: number, isolation: 'log_end' | 'high_watermark' | 'last_stable' = 'log_end') {
  const found: RecordData[] = []
  for (;;) {
    const { parts } = log.read(offset, { maxBytes: 1, minOneBatch: true, isolation })
    if (parts.length === 0) return found
    const bytes = concat(parts)
    eachBatch(bytes, at => found.push(...readRecords(bytes, at, platform)))
    offset = (found.at(-1) as RecordData).offset + 1
  }
}

/** The same as `offset:value` texts. */
export function readTexts(log: Log, offset = log.logStartOffset, isolation?: 'log_end' | 'high_watermark') {
  return readAll(log, offset, isolation).map(
    ({ offset, value }) => `${offset}:${utf8Decode(value ?? new Uint8Array())}`,
  )
}

/** The name of the protocol error that `run` throws. */
export function errorOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof KafkaError) return error.error
    throw error
  }
  return 'NONE'
}
