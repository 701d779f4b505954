/**
 * Reads one segment from end to end without changing it: every batch with its checksum, and its indexes against the batches. Says what
 * is wrong; repairing is for recovery (log-loader.ts), when the log is opened.
 */

import { type BatchHeader, checkBatch, readBatchHeader } from '../../records/batch-header.ts'
import type { Crc32c } from '../../records/crc32c.ts'
import { RecordsError } from '../../records/records-error.ts'
import { readWhole } from '../../storage/read-whole.ts'
import type { Storage } from '../../storage/storage.ts'
import { BatchScanner } from '../batch-scanner.ts'
import { OFFSET_ENTRY_BYTES, OffsetIndex } from '../offset-index.ts'
import {
  fileName,
  OFFSET_INDEX_SUFFIX,
  segmentName,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
  withFile,
} from '../segment-files.ts'
import { TIME_ENTRY_BYTES, TimeIndex } from '../time-index.ts'
import { TRANSACTION_ENTRY_BYTES, TransactionIndex } from '../transaction-index.ts'
import type { Findings } from './finding.ts'

export interface SegmentToVerify {
  readonly storage: Storage
  readonly directory: string
  readonly baseOffset: number
  readonly crc32c: Crc32c
  /** What lies behind it may be half written, and is checked when the log is opened. */
  readonly recoveryPoint: number
  readonly findings: Findings
}

export interface VerifiedSegment {
  /** The offset behind its last good batch. */
  readonly endOffset: number
  readonly batches: number
  readonly bytes: number
  readonly maxTimestamp: number
  /** True when a batch of it is damaged, or bytes at its end are none: then its indexes cannot be held against it. */
  readonly isDamaged: boolean
}

export function verifySegment(segment: SegmentToVerify): VerifiedSegment {
  const { storage, directory, baseOffset } = segment
  const path = `${directory}/${segmentName(baseOffset)}`
  return withFile(storage, path, file => {
    const offsets = readOffsetIndex(segment)
    const walk = new Walk(segment, path, offsets)
    const scanner = new BatchScanner(file, 0)
    try {
      while (scanner.next()) walk.visit(scanner)
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
      walk.broken(scanner.position, file.size, error.message)
    }
    walk.end()
    const verified = { ...walk.result, bytes: file.size }
    checkTimeIndex(segment, verified)
    checkTransactionIndex(segment, verified)
    return verified
  })
}

/** The batches of one segment, as they come. */
class Walk {
  readonly #segment: SegmentToVerify
  readonly #path: string
  readonly #offsets: OffsetIndex | undefined
  /** The entry of the index that comes next. */
  #entry = 0
  #nextOffset: number
  #batches = 0
  #maxTimestamp = -1
  #isCut = false
  #hasDamagedBatch = false

  constructor(segment: SegmentToVerify, path: string, offsets: OffsetIndex | undefined) {
    this.#segment = segment
    this.#path = path
    this.#offsets = offsets
    this.#nextOffset = segment.baseOffset
  }

  get result() {
    return {
      endOffset: this.#nextOffset,
      batches: this.#batches,
      maxTimestamp: this.#maxTimestamp,
      isDamaged: this.#isCut || this.#hasDamagedBatch,
    }
  }

  visit({ window, at, position }: BatchScanner): void {
    const { crc32c, findings, recoveryPoint } = this.#segment
    const batch = readBatchHeader(window, at)
    this.#checkEntries(batch, position)
    this.#batches++
    try {
      checkBatch(window, at, crc32c)
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
      this.#hasDamagedBatch = true
      // Where it ends is known, so that the walk goes on behind it; what else its header says is not to be trusted.
      const what = `the batch at byte ${position}, from offset ${batch.baseOffset} on, is damaged`
      if (batch.baseOffset < recoveryPoint) findings.error(this.#path, `${what}: ${error.message}`)
      else findings.warning(this.#path, `${what}; the log will be cut there when it is opened: ${error.message}`)
      this.#nextOffset = Math.max(this.#nextOffset, batch.baseOffset + 1)
      return
    }
    if (batch.baseOffset < this.#nextOffset || batch.lastOffset < batch.baseOffset) {
      const what = `the batch at byte ${position} has offsets ${batch.baseOffset} to ${batch.lastOffset}`
      findings.error(this.#path, `${what} where ${this.#nextOffset} is next`)
    }
    this.#nextOffset = Math.max(this.#nextOffset, batch.lastOffset + 1)
    this.#maxTimestamp = Math.max(this.#maxTimestamp, batch.maxTimestamp)
  }

  /** An entry has to lead to the begin of a batch, and to none behind the offset that it is for. */
  #checkEntries(batch: BatchHeader, position: number): void {
    const offsets = this.#offsets
    while (offsets !== undefined && this.#entry < offsets.entries.count) {
      const entryPosition = offsets.positionAt(this.#entry)
      if (entryPosition > position) return
      if (entryPosition < position || offsets.offsetAt(this.#entry) < batch.baseOffset) this.#badEntry()
      this.#entry++
    }
  }

  #badEntry(): void {
    const { findings, directory, baseOffset } = this.#segment
    const position = this.#offsets?.positionAt(this.#entry)
    const message = `its entry ${this.#entry} leads to byte ${position} of the segment, where no batch begins that it could mean`
    findings.error(`${directory}/${fileName(baseOffset, OFFSET_INDEX_SUFFIX)}`, message)
  }

  broken(position: number, size: number, reason: string): void {
    this.#isCut = true
    const { findings, recoveryPoint } = this.#segment
    const bytes = `${size - position} bytes from ${position} on are no batch`
    if (this.#nextOffset >= recoveryPoint) {
      findings.warning(this.#path, `${bytes}, as a crash leaves them; they will be cut off: ${reason}`)
    } else {
      findings.error(this.#path, `${bytes}; offsets from ${this.#nextOffset} on cannot be read there: ${reason}`)
    }
  }

  end(): void {
    const left = (this.#offsets?.entries.count ?? 0) - this.#entry
    if (left === 0) return
    const { findings, directory, baseOffset } = this.#segment
    const path = `${directory}/${fileName(baseOffset, OFFSET_INDEX_SUFFIX)}`
    const message = `its last ${left} entries lead behind the last batch`
    if (this.#isCut) findings.warning(path, message)
    else findings.error(path, message)
  }
}

function readOffsetIndex({ storage, directory, baseOffset, findings }: SegmentToVerify): OffsetIndex | undefined {
  const path = `${directory}/${fileName(baseOffset, OFFSET_INDEX_SUFFIX)}`
  const bytes = readWhole(storage, path)
  if (bytes === undefined) return undefined
  if (bytes.length % OFFSET_ENTRY_BYTES !== 0) {
    findings.warning(path, `it ends within an entry; it will be made again from the segment`)
    return undefined
  }
  return new OffsetIndex(baseOffset, bytes)
}

function checkTimeIndex(
  { storage, directory, baseOffset, findings }: SegmentToVerify,
  verified: VerifiedSegment,
): void {
  const path = `${directory}/${fileName(baseOffset, TIME_INDEX_SUFFIX)}`
  const bytes = readWhole(storage, path)
  if (bytes === undefined) return
  if (bytes.length % TIME_ENTRY_BYTES !== 0) {
    return findings.warning(path, 'it ends within an entry; it will be made again from the segment')
  }
  if (verified.isDamaged) return
  const times = new TimeIndex(baseOffset, bytes)
  let [lastTime, lastOffset] = [-1, baseOffset - 1]
  for (let index = 0; index < times.entries.count; index++) {
    const [time, offset] = [times.timestampAt(index), times.offsetAt(index)]
    const isKnown = offset < verified.endOffset && time <= verified.maxTimestamp
    if (time > lastTime && offset > lastOffset && isKnown) {
      lastTime = time
      lastOffset = offset
      continue
    }
    return findings.error(path, `its entry ${index}, time ${time} at offset ${offset}, does not fit the segment`)
  }
}

function checkTransactionIndex(segment: SegmentToVerify, { endOffset }: VerifiedSegment): void {
  const { storage, directory, baseOffset, findings } = segment
  const path = `${directory}/${fileName(baseOffset, TRANSACTION_INDEX_SUFFIX)}`
  const bytes = readWhole(storage, path)
  if (bytes === undefined) return
  if (bytes.length % TRANSACTION_ENTRY_BYTES !== 0) {
    return findings.warning(path, 'it ends within an entry; it will be made again from the log')
  }
  const index = new TransactionIndex(bytes)
  if (!index.isSane) return findings.warning(path, 'it has entries of an unknown version')
  const wrong = index.all().find(entry => entry.lastOffset < baseOffset || entry.lastOffset >= endOffset)
  if (wrong)
    findings.warning(path, `it tells of a transaction that ended at ${wrong.lastOffset}, outside of the segment`)
}
