// What a partition remembers of its idempotent producers (KIP-98): per producer its epoch and its last five batches. From that it tells a
// batch sent twice from a new one, and notices one that is missing. Follows ProducerStateManager and ProducerAppendInfo.

import { InvalidProducerEpochError, OutOfOrderSequenceError } from './errors.ts'

const BATCHES_REMEMBERED = 5
const SEQUENCES = 2147483648

/** A batch as its producer numbers it: each record has a sequence, one more than the record before. */
export interface ProducerBatch {
  producerId: number
  epoch: number
  /** The sequence of the first record. */
  sequence: number
  count: number
}

interface Appended {
  first: number
  last: number
  offset: number
}

interface Producer {
  epoch: number
  batches: Appended[]
}

/** The sequence `count` records later; after 2147483647 comes 0. */
export function nextSequence(sequence: number, count: number): number {
  return (sequence + count) % SEQUENCES
}

export class ProducerState {
  readonly #producers = new Map<number, Producer>()
  #nextProducerId = 0

  /** A producer id that nobody has used here. */
  newProducerId(): number {
    return this.#nextProducerId++
  }

  /**
   * The offset of the first record if the batch was appended before, `undefined` if it is the producer's next one.
   *
   * @throws InvalidProducerEpochError if a newer incarnation of the producer was here
   * @throws OutOfOrderSequenceError if it is neither
   */
  check(batch: ProducerBatch): number | undefined {
    const producer = this.#producers.get(batch.producerId)
    if (producer === undefined) return undefined
    if (batch.epoch < producer.epoch) {
      throw new InvalidProducerEpochError(`epoch ${batch.epoch} is older than ${producer.epoch}`)
    }
    if (batch.epoch > producer.epoch) {
      this.#expectSequence(batch, 0)
      return undefined
    }
    const last = lastSequence(batch)
    const duplicate = producer.batches.find(known => known.first === batch.sequence && known.last === last)
    if (duplicate === undefined) this.#expectSequence(batch, nextSequence(producer.batches.at(-1)!.last, 1))
    return duplicate?.offset
  }

  #expectSequence(batch: ProducerBatch, expected: number): void {
    if (batch.sequence === expected) return
    throw new OutOfOrderSequenceError(`sequence ${batch.sequence} came, ${expected} was expected`)
  }

  /** Remembers a batch that `check` called the next one. */
  remember(batch: ProducerBatch, offset: number): void {
    const { producerId, epoch, sequence } = batch
    const known = this.#producers.get(producerId)
    const before = known?.epoch === epoch ? known.batches : []
    const batches = [...before, { first: sequence, last: lastSequence(batch), offset }].slice(-BATCHES_REMEMBERED)
    this.#producers.set(producerId, { epoch, batches })
    this.#nextProducerId = Math.max(this.#nextProducerId, producerId + 1)
  }
}

function lastSequence(batch: ProducerBatch): number {
  return nextSequence(batch.sequence, batch.count - 1)
}
