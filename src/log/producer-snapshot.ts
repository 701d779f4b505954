/**
 * What a log knows of its producers, as bytes: Kafka's `.snapshot` files (the `ProducerSnapshot` message of
 * `ProducerStateManager`), with a checksum. Kafka writes one entry for each producer, with its last batch. Here a producer has
 * up to five entries with one batch each, the last batch last: Kafka, which takes an entry for a producer in the place of the
 * one before it, reads what it would have written, and a resend of any of the five is still recognised after a restart.
 */

import type { Crc32c } from '../records/crc32c.ts'
import { ByteError, ByteReader } from '../util/byte-reader.ts'
import { ByteWriter } from '../util/byte-writer.ts'
import type { ProducerBatch, ProducerEntry } from './producer-state.ts'

const VERSION = 1
/** Version and checksum, which the checksum does not cover. */
const HEAD_BYTES = 6
const ENTRY_BYTES = 46

/** The bytes of a snapshot. Those with open transactions may come in any order. */
export function encodeSnapshot(producers: Iterable<ProducerEntry>, crc32c: Crc32c): Uint8Array {
  const writer = new ByteWriter()
  let count = 0
  for (const entry of producers) {
    for (const batch of entry.batches.slice(0, -1)) count += writeEntry(writer, entry, batch, batch.timestamp, -1)
    const last = entry.batches.at(-1)
    // A marker is newer than the last batch: the batch keeps its own time in an entry of its own.
    if (last !== undefined && last.timestamp !== entry.lastTimestamp) {
      count += writeEntry(writer, entry, last, last.timestamp, -1)
    }
    count += writeEntry(writer, entry, last, entry.lastTimestamp, entry.currentTransactionFirstOffset)
  }
  const entries = writer.finish()
  const body = new ByteWriter(entries.length + 4)
  body.int32(count)
  body.bytes(entries)
  const bytes = body.finish()
  const head = new ByteWriter()
  head.int16(VERSION)
  head.int32(crc32c(bytes, 0, bytes.length) | 0)
  head.bytes(bytes)
  return head.finish()
}

function writeEntry(
  writer: ByteWriter,
  entry: ProducerEntry,
  batch: ProducerBatch | undefined,
  timestamp: number,
  firstOffset: number,
): number {
  writer.int64(entry.producerId)
  writer.int16(entry.producerEpoch)
  writer.int32(batch?.lastSequence ?? -1)
  writer.int64(batch?.lastOffset ?? -1)
  writer.int32(batch === undefined ? 0 : batch.lastOffset - batch.firstOffset)
  writer.int64(timestamp)
  writer.int32(entry.coordinatorEpoch)
  writer.int64(firstOffset)
  return 1
}

/** The producers of a snapshot, ours or Kafka's; undefined when the bytes are none. */
export function decodeSnapshot(bytes: Uint8Array, crc32c: Crc32c): ProducerEntry[] | undefined {
  try {
    const reader = new ByteReader(bytes)
    if (reader.int16() !== VERSION) return undefined
    if (reader.int32() >>> 0 !== crc32c(bytes, HEAD_BYTES, bytes.length) >>> 0) return undefined
    const count = reader.int32()
    if (count < 0 || count * ENTRY_BYTES !== reader.remaining) return undefined
    const producers = new Map<number, ProducerEntry>()
    for (let index = 0; index < count; index++) readEntry(reader, producers)
    return [...producers.values()]
  } catch (error) {
    if (error instanceof ByteError) return undefined
    throw error
  }
}

function readEntry(reader: ByteReader, producers: Map<number, ProducerEntry>): void {
  const producerId = reader.int64()
  const producerEpoch = reader.int16()
  const lastSequence = reader.int32()
  const lastOffset = reader.int64()
  const offsetDelta = reader.int32()
  const timestamp = reader.int64()
  const coordinatorEpoch = reader.int32()
  const currentTransactionFirstOffset = reader.int64()
  const before = producers.get(producerId)
  const batches = before?.producerEpoch === producerEpoch ? before.batches : []
  const isRepeated = batches.at(-1)?.lastOffset === lastOffset
  if (lastOffset >= 0 && !isRepeated) {
    const firstOffset = lastOffset - offsetDelta
    batches.push({
      firstSequence: firstSequence(lastSequence, offsetDelta),
      lastSequence,
      firstOffset,
      lastOffset,
      timestamp,
    })
  }
  producers.set(producerId, {
    producerId,
    producerEpoch,
    batches,
    coordinatorEpoch,
    lastTimestamp: timestamp,
    currentTransactionFirstOffset,
  })
}

/** Sequences go on at 0 after 2^31 − 1. */
function firstSequence(lastSequence: number, offsetDelta: number): number {
  const first = lastSequence - offsetDelta
  return first < 0 ? first + 0x80000000 : first
}
