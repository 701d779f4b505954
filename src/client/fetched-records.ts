/**
 * From the bytes of a fetch to the records that a consumer gets: batches below the position, control batches and, for
 * read_committed, those of aborted transactions are left out, though the position moves over them (KIP-98). The broker sends
 * whole batches, so the first may begin below the position. Follows CompletedFetch.
 */

import {
  batchLastOffset,
  batchPartitionLeaderEpoch,
  checkBatch,
  eachBatch,
  readBatchHeader,
} from '../records/batch-header.ts'
import { type RecordData, readRecords } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { controlType } from '../records/control.ts'
import { RecordsError } from '../records/records-error.ts'

export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
}

export interface FetchedRecords {
  readonly records: RecordData[]
  /** The offset to go on at. */
  nextOffset: number
  /** The leader epoch of the last batch, −1 when there was none. */
  leaderEpoch: number
  /** What stopped the reading; what stands before it is good. */
  error: RecordsError | undefined
}

/**
 * Reads `bytes` from offset `from` on. Keys and values are views into `bytes`.
 *
 * @param highWatermark no record that may be read lies there or behind it
 * @param aborted null for read_uncommitted
 */
export function readFetched(
  bytes: Uint8Array,
  { from, highWatermark }: { from: number; highWatermark: number },
  aborted: readonly AbortedTransaction[] | null,
  platform: RecordsPlatform,
): FetchedRecords {
  const fetched: FetchedRecords = { records: [], nextOffset: from, leaderEpoch: -1, error: undefined }
  const pendingAborts = [...(aborted ?? [])].sort((a, b) => a.firstOffset - b.firstOffset)
  const aborting = new Set<number>()
  let lastOffset = -1
  const visit = (at: number) => {
    checkBatch(bytes, at, platform.crc32c)
    const header = readBatchHeader(bytes, at)
    // The checksum does not cover the base offset. One that a bad disk changed would take the position to where nothing is.
    if (header.baseOffset <= lastOffset || header.lastOffset >= highWatermark) {
      throw new RecordsError('CORRUPT_MESSAGE', `offset ${header.baseOffset} is not between its neighbours`)
    }
    lastOffset = header.lastOffset
    while (pendingAborts.length > 0 && pendingAborts[0].firstOffset <= header.lastOffset) {
      aborting.add((pendingAborts.shift() as AbortedTransaction).producerId)
    }
    if (header.isControl) {
      const [marker] = readRecords(bytes, at, platform)
      if (marker !== undefined && controlType(marker.key) === 'ABORT') aborting.delete(header.producerId)
    } else if (header.lastOffset >= from && !(header.isTransactional && aborting.has(header.producerId))) {
      for (const record of readRecords(bytes, at, platform)) if (record.offset >= from) fetched.records.push(record)
    }
    // Compaction may have taken a batch's last records: the header says how far it reaches.
    fetched.nextOffset = Math.max(fetched.nextOffset, batchLastOffset(bytes, at) + 1)
    fetched.leaderEpoch = batchPartitionLeaderEpoch(bytes, at)
  }
  try {
    eachBatch(bytes, visit)
  } catch (error) {
    if (!(error instanceof RecordsError)) throw error
    fetched.error = error
  }
  return fetched
}
