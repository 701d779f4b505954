/**
 * What a partition's log was seen to hold, batch by batch and record by record: the memory that checkers hold against what the
 * brokers have after a crash. It judges nothing.
 */

import type { Log } from '../../src/log/log.ts'
import { KafkaError } from '../../src/protocol/errors.ts'
import { checkBatch, eachBatch, readBatchHeader } from '../../src/records/batch-header.ts'
import { readRecords } from '../../src/records/batch-reader.ts'
import { RecordsError } from '../../src/records/records-error.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { utf8Decode } from '../../src/util/utf8.ts'
import { platform } from '../broker/harness.ts'
import { idOf } from './workload/client-process.ts'

export interface ObservedRecord {
  readonly offset: number
  readonly id: string
  readonly key: string | null
  readonly isTombstone: boolean
}

export interface ObservedBatch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly producerId: number
  /** Of all its bytes. */
  readonly checksum: number
  readonly records: readonly ObservedRecord[]
}

/** Reads batches from `offset` on; undefined when the log cannot be read at all, as when its disk has failed. */
export function readObserved(log: Log, offset: number): ObservedBatch[] | undefined {
  const batches: ObservedBatch[] = []
  let from = offset
  try {
    while (from < log.logEndOffset) {
      const read = log.read(from, { maxBytes: 1 << 20, minOneBatch: true, isolation: 'log_end' })
      if (read.sizeInBytes === 0) break
      const bytes = concat(read.parts)
      eachBatch(bytes, at => {
        const batch = observe(bytes, at)
        if (batch.lastOffset >= from) batches.push(batch)
      })
      const last = batches.at(-1)
      if (last === undefined || last.lastOffset < from) break
      from = last.lastOffset + 1
    }
  } catch (error) {
    if (error instanceof KafkaError) return undefined
    throw error
  }
  return batches
}

function observe(bytes: Uint8Array, at: number): ObservedBatch {
  const { baseOffset, lastOffset, producerId, sizeInBytes, isControl } = readBatchHeader(bytes, at)
  const checksum = platform.crc32c(bytes, at, at + sizeInBytes)
  const records: ObservedRecord[] = []
  if (!isControl && isSound(bytes, at)) {
    for (const record of readRecords(bytes, at, platform)) {
      const { offset, key, value } = record
      records.push({ offset, id: idOf(record), key: key && utf8Decode(key), isTombstone: value === null })
    }
  }
  return { baseOffset, lastOffset, producerId, checksum, records }
}

function isSound(bytes: Uint8Array, at: number): boolean {
  try {
    checkBatch(bytes, at, platform.crc32c)
    return true
  } catch (error) {
    if (error instanceof RecordsError) return false
    throw error
  }
}

export class ObservedLog {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** The object that was looked at last: another one after a restart. */
  log: Log | undefined
  /** That of the present process. */
  startOffset = 0
  /** What a client was told is deleted. */
  deletedUpTo = 0
  endOffset = 0
  /** The highest that was seen of what is still there. */
  highWatermark = 0
  /** That of the present process. */
  lastHighWatermark = 0
  flushedOffset = 0
  /** What lies below must be there after the crashes that have been. */
  promisedOffset = 0
  /** Its process has ended, and no other has opened it yet: what came last was not seen. */
  isStale = false
  /** A process ended since it was last seen. */
  crashed = false
  /** A process that opened it, and was seen with it by nobody, may have written in place of what an earlier crash took. */
  mayBeRewritten = false
  /** A crash may have taken what was acknowledged. */
  mayHaveLost = false
  /** Its topic was deleted. */
  isGone = false
  /** A bit of its files was turned over: what it still holds may be less. */
  isDamaged = false
  /** Older records of a key may go. */
  readonly isCompacted: boolean
  batches: ObservedBatch[] = []
  readonly #offsets = new Map<string, number>()

  constructor(topic: string, topicId: string, partition: number, isCompacted: boolean) {
    this.isCompacted = isCompacted
    this.topic = topic
    this.topicId = topicId
    this.partition = partition
  }

  get name(): string {
    return `${this.topic}-${this.partition}`
  }

  append(batch: ObservedBatch): void {
    this.batches.push(batch)
    for (const { id, offset } of batch.records) this.#offsets.set(id, offset)
    this.endOffset = batch.lastOffset + 1
  }

  /** Forgets batches that were lost, as they might be; the log ends at `endOffset` now. */
  remove(lost: readonly ObservedBatch[], endOffset: number): void {
    const gone = new Set(lost)
    this.batches = this.batches.filter(batch => !gone.has(batch))
    for (const { id, offset } of lost.flatMap(({ records }) => records)) {
      if (this.#offsets.get(id) === offset) this.#offsets.delete(id)
    }
    this.endOffset = Math.min(this.endOffset, endOffset)
    this.highWatermark = Math.min(this.highWatermark, endOffset)
    this.flushedOffset = Math.min(this.flushedOffset, endOffset)
  }

  /** Where a record lies; the last place when it is there more than once. */
  offsetOf(id: string): number | undefined {
    return this.#offsets.get(id)
  }

  /** The record at an offset. */
  recordAt(offset: number): ObservedRecord | undefined {
    let low = 0
    let high = this.batches.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const { baseOffset, lastOffset, records } = this.batches[middle]
      if (offset < baseOffset) high = middle - 1
      else if (offset > lastOffset) low = middle + 1
      else return records.find(each => each.offset === offset)
    }
    return undefined
  }

  /** What a reader from the beginning has to get: all records, or with compaction the last of each key at least. */
  demanded(from = this.startOffset, to = this.endOffset): ObservedRecord[] {
    if (!this.isCompacted) return this.#records(from, to)
    return this.last(from, to).filter(({ isTombstone }) => !isTombstone)
  }

  /** The last record of each key, tombstones too. */
  last(from: number, to: number): ObservedRecord[] {
    return [...new Map(this.#records(from, to).map(record => [record.key, record])).values()]
  }

  #records(from: number, to: number): ObservedRecord[] {
    return this.batches.flatMap(batch => batch.records).filter(({ offset }) => offset >= from && offset < to)
  }
}
