/**
 * What one log remembers of each producer: the last five batches, by which a resend is recognised and a gap refused
 * (KIP-98, KIP-360), and its open transaction, by which the last stable offset stands (Kafka's `ProducerStateManager`,
 * `ProducerAppendInfo` and `ProducerStateEntry`). Checking changes nothing; applying checks nothing.
 */

import { KafkaError } from '../protocol/errors.ts'
import type { BatchHeader } from '../records/batch-header.ts'
import type { EndTransactionMarker } from '../records/control.ts'
import { OpenTransactions } from './open-transactions.ts'

/** How many batches of a producer are remembered. */
const BATCHES_TO_RETAIN = 5
const MAX_SEQUENCE = 0x7fffffff

/** Who appends: clients are checked most, replication (what a leader has accepted) least. */
export type AppendOrigin = 'client' | 'coordinator' | 'replication'

/** One remembered batch. */
export interface ProducerBatch {
  firstSequence: number
  lastSequence: number
  firstOffset: number
  lastOffset: number
  /** The batch's maximum timestamp, in milliseconds. */
  timestamp: number
}

/** What is known of one producer. −1 stands for unknown or none. */
export interface ProducerEntry {
  producerId: number
  producerEpoch: number
  /** The last at most five batches of this epoch, oldest first. */
  batches: ProducerBatch[]
  /** That of the coordinator which wrote the last marker. */
  coordinatorEpoch: number
  lastTimestamp: number
  /** Where its open transaction begins. */
  currentTransactionFirstOffset: number
}

/** A transaction that a marker has ended. */
export interface CompletedTransaction {
  producerId: number
  firstOffset: number
  /** The offset of the marker. */
  lastOffset: number
  isAborted: boolean
}

/** How an append is to be checked. */
export interface ProducerRules {
  origin: AppendOrigin
  /** `transaction.version` of the writer (KIP-890): 2 is stricter with markers and with producers that are not known. */
  transactionVersion: number
}

export class ProducerStates {
  readonly #entries = new Map<number, ProducerEntry>()
  readonly transactions = new OpenTransactions()

  get size(): number {
    return this.#entries.size
  }

  get(producerId: number): ProducerEntry | undefined {
    return this.#entries.get(producerId)
  }

  all(): IterableIterator<ProducerEntry> {
    return this.#entries.values()
  }

  /** The remembered batch that `batch` repeats, sequence for sequence. */
  duplicateOf(batch: BatchHeader): ProducerBatch | undefined {
    const entry = this.#entries.get(batch.producerId)
    if (entry === undefined || entry.producerEpoch !== batch.producerEpoch) return undefined
    return entry.batches.find(
      known => known.firstSequence === batch.baseSequence && known.lastSequence === batch.lastSequence,
    )
  }

  /**
   * Demands that a data batch may follow what is known of its producer.
   *
   * @throws {KafkaError} INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap or a resend
   * from too far back, INVALID_TXN_STATE for data outside of the producer's open transaction.
   */
  checkData(batch: BatchHeader, rules: ProducerRules): void {
    if (rules.origin === 'replication') return
    const entry = this.#entries.get(batch.producerId)
    if (entry && batch.producerEpoch < entry.producerEpoch) throw staleEpoch(batch, entry)
    if (rules.origin === 'client') checkSequence(batch, entry, rules.transactionVersion)
    if (entry && entry.currentTransactionFirstOffset >= 0 && !batch.isTransactional) {
      throw new KafkaError('INVALID_TXN_STATE', `producer ${batch.producerId} has an open transaction`)
    }
  }

  /**
   * Demands that a marker may follow what is known of its producer.
   *
   * @throws {KafkaError} INVALID_PRODUCER_EPOCH, or TRANSACTION_COORDINATOR_FENCED for a marker of an old coordinator.
   */
  checkMarker(batch: BatchHeader, marker: EndTransactionMarker, rules: ProducerRules): void {
    const entry = this.#entries.get(batch.producerId)
    if (rules.origin === 'replication' || entry === undefined) return
    if (batch.producerEpoch < entry.producerEpoch) throw staleEpoch(batch, entry)
    // In version 2 a marker raises the epoch. The same epoch again is a marker that was sent twice, if nothing is open.
    const isOpen = entry.currentTransactionFirstOffset >= 0
    if (rules.transactionVersion >= 2 && batch.producerEpoch === entry.producerEpoch && isOpen) {
      throw staleEpoch(batch, entry)
    }
    if (marker.coordinatorEpoch < entry.coordinatorEpoch) {
      throw new KafkaError(
        'TRANSACTION_COORDINATOR_FENCED',
        `coordinator epoch ${marker.coordinatorEpoch} of a marker is below the last seen ${entry.coordinatorEpoch}`,
      )
    }
  }

  /** Takes in a data batch that was appended. */
  applyData(batch: BatchHeader): void {
    const entry = this.#entryFor(batch)
    entry.batches.push({
      firstSequence: batch.baseSequence,
      lastSequence: batch.lastSequence,
      firstOffset: batch.baseOffset,
      lastOffset: batch.lastOffset,
      timestamp: batch.maxTimestamp,
    })
    if (entry.batches.length > BATCHES_TO_RETAIN) entry.batches.shift()
    if (batch.isTransactional && entry.currentTransactionFirstOffset < 0) {
      entry.currentTransactionFirstOffset = batch.baseOffset
      this.transactions.begin(batch.producerId, batch.baseOffset)
    }
  }

  /** Takes in a marker that was appended; returns the transaction that it ended, if the producer had one here. */
  applyMarker(batch: BatchHeader, marker: EndTransactionMarker): CompletedTransaction | undefined {
    const entry = this.#entryFor(batch)
    const firstOffset = entry.currentTransactionFirstOffset
    entry.coordinatorEpoch = marker.coordinatorEpoch
    entry.currentTransactionFirstOffset = -1
    if (firstOffset < 0) return undefined
    return {
      producerId: batch.producerId,
      firstOffset,
      lastOffset: batch.lastOffset,
      isAborted: marker.type === 'ABORT',
    }
  }

  /** Puts a producer back as it was once remembered. Open transactions come in the order of their first offsets. */
  restore(entry: ProducerEntry): void {
    this.#entries.set(entry.producerId, entry)
    if (entry.currentTransactionFirstOffset >= 0) {
      this.transactions.begin(entry.producerId, entry.currentTransactionFirstOffset)
    }
  }

  /** Forgets producers without an open transaction whose last record is `expirationMs` old. Returns how many. */
  expire(now: number, expirationMs: number): number {
    let count = 0
    for (const entry of this.#entries.values()) {
      if (entry.currentTransactionFirstOffset >= 0 || now - entry.lastTimestamp < expirationMs) continue
      this.#entries.delete(entry.producerId)
      count++
    }
    return count
  }

  clear(): void {
    this.#entries.clear()
    this.transactions.clear()
  }

  /** The entry of the batch's producer, in the batch's epoch: the batches of another epoch are of no use. */
  #entryFor(batch: BatchHeader): ProducerEntry {
    const { producerId, producerEpoch } = batch
    let entry = this.#entries.get(producerId)
    if (entry === undefined) {
      entry = {
        producerId,
        producerEpoch,
        batches: [],
        coordinatorEpoch: -1,
        lastTimestamp: -1,
        currentTransactionFirstOffset: -1,
      }
      this.#entries.set(producerId, entry)
    } else if (entry.producerEpoch !== producerEpoch) {
      entry.producerEpoch = producerEpoch
      entry.batches = []
    }
    entry.lastTimestamp = batch.maxTimestamp
    return entry
  }
}

function checkSequence(batch: BatchHeader, entry: ProducerEntry | undefined, transactionVersion: number): void {
  const next = batch.baseSequence
  const last = entry?.batches.at(-1)?.lastSequence ?? -1
  if (transactionVersion >= 2 && last < 0 && next !== 0) throw outOfOrder(batch, 'nothing')
  if (entry === undefined || entry.producerEpoch < 0) return
  if (batch.producerEpoch !== entry.producerEpoch) {
    if (next !== 0) throw outOfOrder(batch, `the older epoch ${entry.producerEpoch}`)
    return
  }
  if (next !== last + 1 && !(next === 0 && last === MAX_SEQUENCE)) throw outOfOrder(batch, `sequence ${last}`)
}

function outOfOrder(batch: BatchHeader, last: string): KafkaError {
  return new KafkaError(
    'OUT_OF_ORDER_SEQUENCE_NUMBER',
    `sequence ${batch.baseSequence} of producer ${batch.producerId} in epoch ${batch.producerEpoch} follows ${last}`,
  )
}

function staleEpoch(batch: BatchHeader, entry: ProducerEntry): KafkaError {
  return new KafkaError(
    'INVALID_PRODUCER_EPOCH',
    `epoch ${batch.producerEpoch} of producer ${batch.producerId} is below the last seen ${entry.producerEpoch}`,
  )
}
