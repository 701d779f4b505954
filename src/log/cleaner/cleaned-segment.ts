/**
 * The segment that cleaning writes, until it takes the place of those it was made of. A crash is harmless at any moment: until the
 * name says `.swap`, which is once all of it is on the disk, opening the log drops it; from then on opening the log finishes what was
 * begun (`LocalLog.replaceSegments` in Kafka). The segments that it replaces go, and then it gets its name, when it is known that they
 * will not come back.
 */

import { batchLastOffset, batchMaxTimestamp, eachBatch } from '../../records/batch-header.ts'
import type { StorageFailure } from '../../storage/storage.ts'
import type { Later } from '../../util/later.ts'
import type { Segment } from '../segment.ts'
import { CLEANED_SUFFIX, SWAP_SUFFIX, segmentName } from '../segment-files.ts'
import type { AbortedTransactionEntry } from '../transaction-index.ts'
import { type CleanableLog, CleaningAborted } from './cleanable-log.ts'
import type { Steps } from './cleaning.ts'

/** It is written in pieces of so many bytes. */
const PIECE_BYTES = 256 * 1024

export class CleanedSegment {
  readonly #log: CleanableLog
  readonly #segment: Segment
  readonly #path: string
  /** Batches that wait to be written. */
  readonly #piece: Uint8Array
  #waitingBytes = 0
  #isInPlace = false

  /** @param mostBytes how many may come */
  constructor(log: CleanableLog, baseOffset: number, mostBytes: number) {
    this.#log = log
    this.#path = `${log.directory}/${segmentName(baseOffset)}`
    this.#segment = log.segments.open(baseOffset, log.config, { isNew: true, suffix: CLEANED_SUFFIX })
    this.#piece = new Uint8Array(Math.min(PIECE_BYTES, mostBytes))
    // One that was given up may not be gone yet.
    if (this.#segment.size > 0) this.#segment.file.truncate(0)
  }

  /** Bytes that have come. */
  get size(): number {
    return this.#segment.size + this.#waitingBytes
  }

  /** Takes a batch, which is the caller's again afterwards. */
  write(batch: Uint8Array): void {
    if (this.#waitingBytes + batch.length > this.#piece.length) this.#writePiece()
    if (batch.length > this.#piece.length) return this.#append(batch)
    this.#piece.set(batch, this.#waitingBytes)
    this.#waitingBytes += batch.length
  }

  /** An aborted transaction whose marker is in it. */
  noteAborted(entry: AbortedTransactionEntry): void {
    this.#segment.aborted.append(entry)
  }

  #writePiece(): void {
    if (this.#waitingBytes > 0) this.#append(this.#piece.subarray(0, this.#waitingBytes))
    this.#waitingBytes = 0
  }

  #append(batches: Uint8Array): void {
    const position = this.#segment.size
    this.#segment.append(batches, this.#log.env.now())
    eachBatch(batches, (at, size) => {
      this.#segment.index(batchLastOffset(batches, at), batchMaxTimestamp(batches, at), position + at, size)
    })
  }

  /** Makes it last, and puts it in the place of the segments that it was made of. */
  *takePlaceOf(group: readonly Segment[]): Steps<void> {
    const { segments, storage, directory, config } = this.#log
    const { changes } = segments
    this.#writePiece()
    // Its age is that of the records, not of the cleaning.
    this.#segment.lastModifiedMs = group[group.length - 1].lastModifiedMs
    yield* this.#settle(this.#segment.file.flush(), changes)
    storage.rename(this.#path + CLEANED_SUFFIX, this.#path + SWAP_SUFFIX)
    yield* this.#settle(storage.syncDirectory(directory), changes)
    this.#isInPlace = true
    const replaced = segments.replace(group, this.#segment, config.fileDeleteDelayMs)
    yield* this.#settle(replaced, segments.changes)
  }

  /** Waits, and demands that the log is what it was afterwards. */
  *#settle(later: Later<StorageFailure | undefined>, changes: number): Steps<void> {
    yield later
    if (this.#log.segments.changes !== changes) throw new CleaningAborted(this.#log.topicPartition)
  }

  /** It goes, unless it is in its place already. */
  discard(): void {
    if (this.#isInPlace) return
    const { storage } = this.#log
    this.#segment.close()
    for (const suffix of [CLEANED_SUFFIX, SWAP_SUFFIX]) {
      if (storage.exists(this.#path + suffix)) storage.remove(this.#path + suffix)
    }
  }
}
