/**
 * Snapshots of the metadata: what the records before an offset add up to, in a file of its own beside the log, so that the log need
 * not be kept from its beginning (KIP-630). The files are named as Kafka's are, and hold batches of records, which have
 * checksums. The last two are kept: should the newest be damaged, there is the one before, and the log from there on.
 */

import type { CoordinatorRecord } from '../coordinator/ports.ts'
import { buildBatch } from '../records/batch-builder.ts'
import { checkBatch, eachBatch } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { RecordsError } from '../records/records-error.ts'
import { readWhole } from '../storage/read-whole.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import { concat } from '../util/byte-writer.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'

const SUFFIX = '.checkpoint'
/** How the file of a snapshot is called. */
export const SNAPSHOT_NAME = /^(\d{20})-(\d{10})\.checkpoint$/
const RECORDS_PER_BATCH = 1000
const KEPT = 2

export interface Snapshot {
  /** The offset behind the last record that it takes in. */
  readonly endOffset: number
  readonly sizeInBytes: number
  readonly records: readonly CoordinatorRecord[]
}

export interface SnapshotsOptions {
  readonly env: Env
  readonly storage: Storage
  readonly platform: RecordsPlatform
  readonly directory: string
}

export class MetadataSnapshots {
  readonly #env: Env
  readonly #storage: Storage
  readonly #platform: RecordsPlatform
  readonly #directory: string

  constructor({ env, storage, platform, directory }: SnapshotsOptions) {
    this.#env = env
    this.#storage = storage
    this.#platform = platform
    this.#directory = directory
  }

  /** The end offsets of those there are, in order. */
  endOffsets(): number[] {
    const names = this.#storage.list(this.#directory)
    return names
      .map(name => SNAPSHOT_NAME.exec(name)?.[1])
      .flatMap(offset => (offset === undefined ? [] : [Number(offset)]))
  }

  /** The newest that is whole; undefined when there is none. */
  newest(): Snapshot | undefined {
    for (const endOffset of this.endOffsets().reverse()) {
      const path = this.#path(endOffset)
      try {
        const bytes = readWhole(this.#storage, path)
        if (bytes) return { endOffset, sizeInBytes: bytes.length, records: this.#recordsOf(bytes) }
      } catch (error) {
        if (!(error instanceof RecordsError)) throw error
        this.#env.log('error', 'a snapshot of the metadata is damaged and is not used', { path, error: error.message })
      }
    }
    return undefined
  }

  #recordsOf(bytes: Uint8Array): CoordinatorRecord[] {
    const records: CoordinatorRecord[] = []
    const end = eachBatch(bytes, at => {
      checkBatch(bytes, at, this.#platform.crc32c)
      for (const { key, value } of readRecords(bytes, at, this.#platform))
        records.push({ key: key as Uint8Array, value })
    })
    if (end !== bytes.length || end === 0) {
      throw new RecordsError('CORRUPT_MESSAGE', `${bytes.length - end} of its ${bytes.length} bytes are no batch`)
    }
    return records
  }

  /** Writes one; it is there, whole, once this settles without a failure. Returns its size too. */
  write(
    endOffset: number,
    records: Iterable<CoordinatorRecord>,
  ): { sizeInBytes: number; written: Later<StorageFailure | undefined> } {
    const timestamp = this.#env.now()
    const batches: Uint8Array[] = []
    let batch: CoordinatorRecord[] = []
    const end = () => {
      const inputs = batch.map(({ key, value }) => ({ key, value, timestamp }))
      if (inputs.length > 0) batches.push(buildBatch({ records: inputs, crc32c: this.#platform.crc32c }))
      batch = []
    }
    for (const record of records) if (batch.push(record) === RECORDS_PER_BATCH) end()
    end()
    const bytes = concat(batches)
    return { sizeInBytes: bytes.length, written: this.#storage.replace(this.#path(endOffset), bytes) }
  }

  /** Removes all but the last ones; returns from where on the log has to be kept. */
  removeOld(): number {
    const endOffsets = this.endOffsets()
    const kept = endOffsets.splice(-KEPT)
    for (const endOffset of endOffsets) this.#storage.remove(this.#path(endOffset))
    return kept.length < KEPT ? 0 : kept[0]
  }

  #path(endOffset: number): string {
    const epoch = 0
    return `${this.#directory}/${String(endOffset).padStart(20, '0')}-${String(epoch).padStart(10, '0')}${SUFFIX}`
  }
}
