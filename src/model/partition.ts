// One partition as a log: records with absolute offsets, what retention and compaction do to them, and idempotent producers. Offsets are
// never given again: retention moves the start, compaction leaves holes. Unlike the broker it drops single records, not segments, and
// it has no active segment that would be spared. Follows UnifiedLog and LogCleaner.

import { checkArray, checkChoice, checkCount, checkInteger } from './check.ts'
import { lastOfEachKey } from './compaction.ts'
import { OffsetOutOfRangeError } from './errors.ts'
import { bytesOf, type Key } from './partitioner.ts'
import { ProducerState } from './producer-state.ts'

export type Headers = Readonly<Record<string, unknown>>

/** A record in a log. */
export interface Rec<K = string, V = unknown> {
  offset: number
  key: K | null
  value: V
  /** Milliseconds; 0 if none was given. */
  timestamp: number
  headers: Headers
}

/** A record to append. */
export interface NewRec<K = string, V = unknown> {
  key: K | null
  value: V
  timestamp?: number
  headers?: Headers
}

/**
 * One partition.
 *
 * @example
 * const partition = new Partition<string, string>()
 * for (let i = 0; i < 10; i++) partition.append('k', `v${i}`)
 * partition.retainCount(4) // 6 records went
 * partition.startOffset // 6
 * partition.endOffset // 10
 */
export class Partition<K = string, V = unknown> {
  #records: Rec<K, V>[] = []
  #startOffset = 0
  #endOffset = 0
  readonly #producers = new ProducerState()

  /** The lowest offset that can be read. Only retention moves it. */
  get startOffset(): number {
    return this.#startOffset
  }

  /** The offset the next record will get. */
  get endOffset(): number {
    return this.#endOffset
  }

  /** How many records there are. */
  get length(): number {
    return this.#records.length
  }

  /**
   * Appends a record and returns its offset.
   *
   * @throws RangeError if the timestamp is not a non-negative integer
   */
  append(key: K | null, value: V, options: { timestamp?: number; headers?: Headers } = {}): number {
    return this.#push([toAppend({ ...options, key, value })])
  }

  #push(records: Omit<Rec<K, V>, 'offset'>[]): number {
    const first = this.#endOffset
    for (const record of records) this.#records.push({ offset: this.#endOffset++, ...record })
    return first
  }

  /**
   * Up to `max` records from `offset` on. Reading at the end offset gives none; a hole that compaction left is skipped.
   *
   * @throws OffsetOutOfRangeError below the start offset and above the end offset; it carries both
   * @throws RangeError if an argument is not an integer, or `max` is negative
   */
  read(offset: number, max = 100): Rec<K, V>[] {
    checkInteger('offset', offset, Number.MIN_SAFE_INTEGER)
    checkCount('max', max)
    if (offset < this.#startOffset || offset > this.#endOffset) {
      throw new OffsetOutOfRangeError(offset, this.#startOffset, this.#endOffset)
    }
    const from = this.#indexOf(offset)
    return this.#records.slice(from, from + max).map(record => ({ ...record }))
  }

  /** Where the first record at or after the offset is. */
  #indexOf(offset: number): number {
    let low = 0
    let high = this.#records.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#records[middle].offset < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Keeps the `n` newest records; returns how many went. */
  retainCount(n: number): number {
    checkCount('n', n)
    return this.#dropOldest(Math.max(0, this.#records.length - n))
  }

  /**
   * Drops the records at the beginning that are older than `ms`; returns how many went. One exactly that old stays, and so does an old
   * one behind a younger one: only a prefix ever goes.
   */
  retainTime(ms: number, now = 0): number {
    checkCount('ms', ms)
    checkCount('now', now)
    const stays = this.#records.findIndex(record => now - record.timestamp <= ms)
    return this.#dropOldest(stays === -1 ? this.#records.length : stays)
  }

  /**
   * Drops the oldest records until the rest is at most `n` bytes; returns how many went. (Kafka drops whole segments, and never so many
   * that less than `retention.bytes` would be left.) `sizeOf` says how big a record is; by default keys and values count, strings and
   * bytes as they are and anything else as JSON.
   *
   * @throws RangeError if `n` or a size is not a non-negative integer
   */
  retainBytes(n: number, sizeOf: (record: Rec<K, V>) => number = sizeOfRecord): number {
    checkCount('n', n)
    const sizes = this.#records.map(record => checkCount('sizeOf()', sizeOf({ ...record })))
    let total = sizes.reduce((sum, size) => sum + size, 0)
    let gone = 0
    while (total > n) total -= sizes[gone++]
    return this.#dropOldest(gone)
  }

  #dropOldest(count: number): number {
    if (count === 0) return 0
    this.#records = this.#records.slice(count)
    this.#startOffset = this.#records[0]?.offset ?? this.#endOffset
    return count
  }

  /**
   * Keeps the last record of each key, at its offset; returns how many records went. `tombstones: 'keep'`, the default, keeps those with
   * a `null` value too, as Kafka does for `delete.retention.ms`, so that a slow reader learns of the deletion; `'drop'` drops them.
   *
   * @throws TypeError if a record has no key; nothing changed
   */
  compact(options: { tombstones?: 'keep' | 'drop' } = {}): number {
    const { tombstones = 'keep' } = options
    checkChoice('tombstones', tombstones, 'keep', 'drop')
    const kept = lastOfEachKey(this.#records).filter(record => tombstones === 'keep' || record.value !== null)
    const gone = this.#records.length - kept.length
    this.#records = kept
    return gone
  }

  /**
   * The broker's side of the idempotent producer: appends a batch once, however often it is sent. A batch with the same first and last
   * sequence as one of the producer's last five is a duplicate: it gets the offset of the first time, and nothing is appended. A producer
   * that is not known may start anywhere.
   *
   * @throws OutOfOrderSequenceError if a batch is missing before this one, or a higher epoch does not start at sequence 0
   * @throws InvalidProducerEpochError if the epoch is lower than the producer's last one
   * @throws RangeError if a number is not in range or there are no records
   */
  produce(batch: { producerId: number; epoch: number; sequence: number; records: readonly NewRec<K, V>[] }): {
    offset: number
    duplicate: boolean
  } {
    const producerId = checkCount('producerId', batch.producerId)
    const epoch = checkInteger('epoch', batch.epoch, 0, 32767)
    const sequence = checkInteger('sequence', batch.sequence, 0, 2147483647)
    checkArray('records', batch.records)
    const count = checkInteger('records.length', batch.records.length, 1)
    const records = batch.records.map(record => toAppend<K, V>(record))
    const numbered = { producerId, epoch, sequence, count }
    const known = this.#producers.check(numbered)
    if (known !== undefined) return { offset: known, duplicate: true }
    const offset = this.#push(records)
    this.#producers.remember(numbered, offset)
    return { offset, duplicate: false }
  }

  /** A producer id that no producer of this partition has, as InitProducerId gives out. */
  initProducerId(): number {
    return this.#producers.newProducerId()
  }
}

/** Fills in what was not given: there is no clock, so a time that is not given is 0. */
function toAppend<K, V>(record: NewRec<K, V>): Omit<Rec<K, V>, 'offset'> {
  const { key, value, timestamp = 0, headers = {} } = record
  return { key, value, timestamp: checkCount('timestamp', timestamp), headers }
}

function sizeOfRecord(record: Rec<unknown, unknown>): number {
  return sizeOf(record.key) + sizeOf(record.value)
}

function sizeOf(value: unknown): number {
  if (value === null || value === undefined) return 0
  const isText = typeof value === 'string' || value instanceof Uint8Array
  return bytesOf(isText ? (value as Key) : (JSON.stringify(value) ?? '')).length
}
