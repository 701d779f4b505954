// The client's side of the idempotent producer: it numbers its batches, so that the partition can tell a batch that was sent again, after
// an answer got lost, from a new one. The partition's side is in partition.ts and producer-state.ts. Follows KIP-98 and KIP-360.

import { checkCount, checkInteger } from './check.ts'
import type { NewRec, Partition } from './partition.ts'
import { nextSequence } from './producer-state.ts'

interface SentBatch<K, V> {
  producerId: number
  epoch: number
  sequence: number
  records: readonly NewRec<K, V>[]
}

/**
 * A producer that may send everything twice. Without a `producerId` it gets one that the partition has not seen.
 *
 * @example
 * const producer = new IdempotentProducer(partition)
 * producer.send({ key: 'a', value: 1 }) // { offset: 0, duplicate: false }
 * producer.resend() // { offset: 0, duplicate: true }: nothing was appended
 */
export class IdempotentProducer<K = string, V = unknown> {
  readonly #partition: Partition<K, V>
  readonly #sent: SentBatch<K, V>[] = []
  #producerId: number
  #epoch: number
  #sequence = 0

  constructor(partition: Partition<K, V>, options: { producerId?: number; epoch?: number } = {}) {
    const { epoch = 0, producerId } = options
    this.#epoch = checkInteger('epoch', epoch, 0, 32767)
    this.#producerId = producerId === undefined ? partition.initProducerId() : checkCount('producerId', producerId)
    this.#partition = partition
  }

  get producerId(): number {
    return this.#producerId
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Sends the records as one batch. If the partition refuses it, the batch was not sent: the next one gets its sequence. */
  send(...records: NewRec<K, V>[]): { offset: number; duplicate: boolean } {
    const batch = { producerId: this.#producerId, epoch: this.#epoch, sequence: this.#sequence, records }
    const answer = this.#partition.produce(batch)
    this.#sequence = nextSequence(this.#sequence, records.length)
    this.#sent.push(batch)
    return answer
  }

  /** Sends the `n`-th last batch again as it was, as a producer does that got no answer. Partitions remember five. */
  resend(n = 1): { offset: number; duplicate: boolean } {
    checkInteger('n', n, 1, this.#sent.length)
    return this.#partition.produce(this.#sent[this.#sent.length - n])
  }

  /** Starts over as a new incarnation: sequence 0, and the partition will refuse what the old one still sends. */
  bumpEpoch(): void {
    if (this.#epoch === 32767) {
      // There is no higher epoch: as in Kafka, the next incarnation is another producer.
      this.#producerId = this.#partition.initProducerId()
      this.#epoch = 0
    } else {
      this.#epoch++
    }
    this.#sequence = 0
  }
}
