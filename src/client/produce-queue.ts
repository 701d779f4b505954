/**
 * What one producer has for one partition: batches that wait, batches on their way, and the sequence numbers that let the
 * broker recognise a batch it has (KIP-98). It sends nothing and knows no broker; the producer asks it for the next batch and
 * tells it what became of it. Follows TransactionManager.TxnPartitionMap and RecordAccumulator.
 *
 * The rule that everything here serves: a batch that may be in the log already is never sent under another sequence. When a
 * sequence cannot be used any more, such a batch fails; one that surely was not stored gets a new sequence in a new epoch.
 */

import { buildBatch, type RecordInput } from '../records/batch-builder.ts'
import { addSequence } from '../records/batch-header.ts'
import type { CodecName, RecordsPlatform } from '../records/compression.ts'
import type { Later } from '../util/later.ts'
import type { ClientError, Result } from './result.ts'

/** Where a record came to lie. */
export interface RecordMetadata {
  readonly topic: string
  readonly partition: number
  /** −1 with acks 0, where nobody says. */
  readonly offset: number
  /** Milliseconds: the record's own, or the broker's where the topic has log append time. */
  readonly timestamp: number
}

/** Who produces, as the broker knows it; −1 for a producer that is not idempotent. */
export interface ProducerIdentity {
  readonly producerId: number
  readonly producerEpoch: number
}

export const NO_IDENTITY: ProducerIdentity = { producerId: -1, producerEpoch: -1 }
const LAST_EPOCH = 32767

export interface Pending {
  readonly record: RecordInput & { timestamp: number }
  readonly reply: Later<Result<RecordMetadata>>
}

export interface Batch {
  readonly pending: readonly Pending[]
  /** Milliseconds on the clock at which it was begun. */
  readonly createdAt: number
  readonly bytes: number
  inFlight: boolean
  attempts: number
  /** May have been stored by a try whose answer never came. */
  uncertain: boolean
  /** Set with the first try, together with the sequence. */
  identity: ProducerIdentity | undefined
  sequence: number
  encoded: Uint8Array | undefined
}

export class ProduceQueue {
  readonly topic: string
  readonly partition: number
  /** Nothing is sent before this time: the pause after a failed try. */
  notBefore = 0
  #broken = false
  readonly #maxInFlight: number
  #open: Pending[] = []
  #openBytes = 0
  #openedAt = 0
  /** All closed batches that are not settled, oldest first, on their way or not. */
  #batches: Batch[] = []
  #identity: ProducerIdentity | undefined
  #nextSequence = 0
  /**
   * The broker has taken a batch of the present epoch, and so checks the sequence of the next. Of a producer that it does not know it takes
   * any: were the first batch refused, as with NOT_ENOUGH_REPLICAS, one that is behind it on the way would be stored before it.
   */
  #isKnown = false
  /** A try failed: the order of what follows is only certain again when nothing is on its way. */
  #recovering = false

  constructor(topic: string, partition: number, maxInFlight: number) {
    this.topic = topic
    this.partition = partition
    this.#maxInFlight = maxInFlight
  }

  get idle(): boolean {
    return this.#open.length + this.#batches.length === 0
  }

  /** Milliseconds on the clock at which the batch that is being filled was begun; undefined when there is none. */
  get openedAt(): number | undefined {
    return this.#open.length > 0 ? this.#openedAt : undefined
  }

  /** The oldest batch that is not on its way. */
  get head(): Batch | undefined {
    return this.#batches.find(batch => !batch.inFlight)
  }

  get #inFlight(): number {
    return this.#batches.reduce((count, batch) => count + (batch.inFlight ? 1 : 0), 0)
  }

  /** A sequence was lost, so the present epoch cannot go on; a new one begins when nothing is on its way. */
  get broken(): boolean {
    return this.#broken
  }

  /** Puts a record behind the others; a batch that would grow over `batchBytes` is closed first. */
  append(pending: Pending, bytes: number, batchBytes: number, now: number): void {
    if (this.#open.length > 0 && this.#openBytes + bytes > batchBytes) this.seal()
    if (this.#open.length === 0) this.#openedAt = now
    this.#open.push(pending)
    this.#openBytes += bytes
    if (this.#openBytes >= batchBytes) this.seal()
  }

  /** Closes the batch that is being filled. */
  seal(): void {
    if (this.#open.length === 0) return
    this.#batches.push(newBatch(this.#open, this.#openBytes, this.#openedAt))
    this.#open = []
    this.#openBytes = 0
  }

  /** True when a batch may be sent now. */
  canSend(now: number): boolean {
    if (this.head === undefined || now < this.notBefore) return false
    const inFlight = this.#inFlight
    if (inFlight === 0) return true
    const isOrdered = this.#isKnown || this.#identity?.producerId === NO_IDENTITY.producerId
    return inFlight < this.#maxInFlight && isOrdered && !this.#recovering && !this.#broken
  }

  /** The producer id whose epochs this queue has used up. */
  spentProducerId: number | undefined

  /** True when {@link take} needs a producer id that this queue does not have. */
  get needsIdentity(): boolean {
    return this.#identity === undefined
  }

  adopt(identity: ProducerIdentity): void {
    this.#identity = identity
    this.#nextSequence = 0
    this.#isKnown = false
  }

  /** Marks the next batch as on its way and gives it its sequence; call only after {@link canSend}. */
  take(): Batch {
    const batch = this.head as Batch
    const identity = this.#identity as ProducerIdentity
    this.#recovering = false
    if (batch.identity === undefined) {
      batch.identity = identity
      if (identity.producerId >= 0) {
        batch.sequence = this.#nextSequence
        this.#nextSequence = addSequence(this.#nextSequence, batch.pending.length)
      }
    }
    batch.attempts++
    batch.inFlight = true
    return batch
  }

  /** True when an older batch is not settled yet: then it is its loss that a gap in the sequence speaks of. */
  hasOlder(batch: Batch): boolean {
    return this.#batches[0] !== batch
  }

  /** The batch was stored. */
  acknowledge(batch: Batch): Batch[] {
    if (batch.identity === this.#identity) this.#isKnown = true
    return this.#remove(batch)
  }

  /** The batch stays at its place, to be sent again. The batches returned here and below cannot be sent any more. */
  requeue(batch: Batch, uncertain: boolean): Batch[] {
    batch.inFlight = false
    batch.uncertain ||= uncertain
    this.#recovering = true
    return this.#settleEpoch()
  }

  /** The batch was too large: its halves take its place, under the same sequences. */
  split(batch: Batch): Batch[] {
    const middle = batch.pending.length >> 1
    const halves = [batch.pending.slice(0, middle), batch.pending.slice(middle)].map((pending, index) => ({
      ...newBatch(pending, batch.bytes / 2, batch.createdAt),
      attempts: batch.attempts,
      identity: batch.identity,
      sequence: index === 0 ? batch.sequence : addSequence(batch.sequence, middle),
      uncertain: batch.uncertain,
    }))
    this.#recovering = true
    this.#batches.splice(this.#batches.indexOf(batch), 1, ...halves)
    return this.#settleEpoch()
  }

  /** The batch is given up; its sequence goes to the next one if that is safe. */
  giveUp(batch: Batch): Batch[] {
    if (batch.identity !== undefined && batch.identity.producerId >= 0) {
      const wasLast = addSequence(batch.sequence, batch.pending.length) === this.#nextSequence
      if (wasLast && !batch.uncertain && batch.identity === this.#identity) this.#nextSequence = batch.sequence
      else this.#broken = true
    }
    return this.#remove(batch)
  }

  /** The broker does not know our sequences: the batch is given up, and a new epoch begins. */
  loseEpoch(batch: Batch): Batch[] {
    this.#broken = true
    return this.#remove(batch)
  }

  #remove(batch: Batch): Batch[] {
    this.#batches = this.#batches.filter(other => other !== batch)
    return this.#settleEpoch()
  }

  /** Starts a new epoch if one is due; returns the batches that cannot follow into it. */
  #settleEpoch(): Batch[] {
    if (!this.#broken || this.#inFlight > 0) return []
    this.#broken = false
    const { producerId, producerEpoch } = this.#identity as ProducerIdentity
    if (producerEpoch < LAST_EPOCH) this.#identity = { producerId, producerEpoch: producerEpoch + 1 }
    else {
      this.#identity = undefined
      this.spentProducerId = producerId
    }
    this.#nextSequence = 0
    this.#isKnown = false
    const lost = this.#batches.filter(batch => batch.uncertain)
    this.#batches = this.#batches.filter(batch => !batch.uncertain)
    for (const batch of this.#batches) {
      batch.identity = undefined
      batch.sequence = -1
      batch.encoded = undefined
    }
    return lost
  }
}

function newBatch(pending: readonly Pending[], bytes: number, createdAt: number): Batch {
  return {
    pending,
    createdAt,
    bytes,
    inFlight: false,
    attempts: 0,
    uncertain: false,
    identity: undefined,
    sequence: -1,
    encoded: undefined,
  }
}

/** The bytes to send; the same at every try. @throws {RecordsError} when the codec is not there. */
export function encodeBatch(batch: Batch, codec: CodecName, platform: RecordsPlatform): Uint8Array {
  batch.encoded ??= buildBatch({
    records: batch.pending.map(each => each.record),
    codec,
    compression: platform.compression,
    crc32c: platform.crc32c,
    ...batch.identity,
    baseSequence: batch.sequence,
  })
  return batch.encoded
}

export function failBatch(batch: Batch, error: ClientError): void {
  for (const { reply } of batch.pending) reply.settle({ ok: false, error })
}
