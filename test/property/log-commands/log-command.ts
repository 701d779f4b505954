/** What all commands of the histories of partitions share: what the model knows, and that it and the broker agree after each. */

import type * as fc from 'fast-check'
import { expect } from 'vitest'
import {
  type ConsumerGroup,
  InvalidProducerEpochError,
  OffsetOutOfRangeError,
  OutOfOrderSequenceError,
  type Partition,
} from '../../../src/model/index.ts'
import type { LogWorld, NewRecord, StoredBatch } from '../log-world.ts'

/** A segment of so many bytes takes the largest batch of these histories, and of two of the smallest only one. */
export const ONE_BATCH = 120

/** A producer as the histories know it: what it is to send next, and all that it sent. */
export interface Sender {
  id: number
  epoch: number
  next: number
  sent: { partition: number; epoch: number; sequence: number; records: NewRecord[] }[]
}

export interface Model {
  readonly partitions: Partition<null, string>[]
  readonly group: ConsumerGroup<null, string>
  /** All batches of each partition, as the broker counted their bytes. */
  readonly batches: StoredBatch[][]
  readonly segmentBytes: number
  readonly senders: Map<number, Sender>
  values: number
}

export abstract class LogCommand implements fc.Command<Model, LogWorld> {
  check(_model: Readonly<Model>): boolean {
    return true
  }
  run(model: Model, real: LogWorld): void {
    this.act(model, real)
    agree(model, real)
  }
  abstract act(model: Model, real: LogWorld): void
  toString() {
    return `${this.constructor.name} ${JSON.stringify(this)}`
  }
}

/** What can be seen of the two is the same. */
function agree({ partitions, group }: Model, real: LogWorld): void {
  for (const [index, { startOffset, endOffset }] of partitions.entries()) {
    const { start, end } = real.bounds(index)
    expect({ start, end }).toEqual({ start: startOffset, end: endOffset })
    expect(end - Math.max(real.position(index) ?? 0, start)).toBe(group.lag(index))
  }
  expect(real.committed()).toEqual(partitions.map((_, index) => group.committed(index)))
}

/** The name under which the broker says what the model throws, or NONE. */
export function nameOf(call: () => void): string {
  try {
    call()
    return 'NONE'
  } catch (error) {
    if (error instanceof OutOfOrderSequenceError) return 'OUT_OF_ORDER_SEQUENCE_NUMBER'
    if (error instanceof InvalidProducerEpochError) return 'INVALID_PRODUCER_EPOCH'
    if (error instanceof OffsetOutOfRangeError) return 'OFFSET_OUT_OF_RANGE'
    throw error
  }
}

export const partitionOf = (model: Model, chosen: number) => chosen % model.partitions.length
