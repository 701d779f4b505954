/** Producers: with numbers and without, in order, again, out of turn, and with a higher epoch. */

import { expect } from 'vitest'
import type { LogWorld, NewRecord } from '../log-world.ts'
import { LogCommand, type Model, nameOf, partitionOf, type Sender } from './log-command.ts'

/** A batch of records; `ages` say how old each is, in milliseconds. */
function newRecords(model: Model, real: LogWorld, ages: readonly number[]): NewRecord[] {
  return ages.map(age => ({ value: `v${model.values++}`, timestamp: real.now - age }))
}

function remember(model: Model, partition: number, baseOffset: number, records: NewRecord[], bytes: number): void {
  const newest = Math.max(...records.map(({ timestamp }) => timestamp))
  model.batches[partition].push({ baseOffset, lastOffset: baseOffset + records.length - 1, newest, bytes })
}

interface BatchToSend {
  producerId: number
  epoch: number
  sequence: number
  records: NewRecord[]
}

/** Sends a batch to both, and demands one answer. True when it was taken. */
function sendTo(model: Model, real: LogWorld, partition: number, { records, ...numbered }: BatchToSend): boolean {
  let offset = -1
  let duplicate = false
  const log = model.partitions[partition]
  const before = log.endOffset
  const expected = nameOf(() => {
    ;({ offset, duplicate } = log.produce({ ...numbered, records: records.map(each => ({ key: null, ...each })) }))
  })
  const answer = real.produce(partition, numbered, records)
  expect({ error: answer.error, offset: answer.offset }).toEqual({ error: expected, offset })
  if (expected !== 'NONE') return false
  if (!duplicate) {
    remember(model, partition, before, records, answer.bytes)
  }
  return true
}

export class Append extends LogCommand {
  readonly partition: number
  readonly ages: readonly number[]
  constructor(partition: number, ages: readonly number[]) {
    super()
    this.partition = partition
    this.ages = ages
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    const records = newRecords(model, real, this.ages)
    const baseOffset = model.partitions[index].endOffset
    for (const { value, timestamp } of records) model.partitions[index].append(null, value, { timestamp })
    const answer = real.produce(index, undefined, records)
    expect(answer).toMatchObject({ error: 'NONE', offset: baseOffset })
    remember(model, index, baseOffset, records, answer.bytes)
  }
}

/** A numbered batch: `skip` leaves a gap, or goes back when negative. */
export class Send extends LogCommand {
  readonly sender: number
  readonly ages: readonly number[]
  readonly skip: number
  constructor(sender: number, ages: readonly number[], skip: number) {
    super()
    this.sender = sender
    this.ages = ages
    this.skip = skip
  }
  act(model: Model, real: LogWorld) {
    const sender = senderOf(model, real, this.sender)
    // Each producer writes to one partition, as numbers are counted per partition.
    const partition = partitionOf(model, this.sender)
    const sequence = wrap(sender.next + this.skip)
    const records = newRecords(model, real, this.ages)
    const taken = sendTo(model, real, partition, { producerId: sender.id, epoch: sender.epoch, sequence, records })
    if (!taken) return
    sender.next = wrap(sequence + records.length)
    sender.sent.push({ partition, epoch: sender.epoch, sequence, records })
  }
}

/** The `back`-th last batch again, as it was: perhaps too far back, perhaps of an older epoch. */
export class Resend extends LogCommand {
  readonly sender: number
  readonly back: number
  constructor(sender: number, back: number) {
    super()
    this.sender = sender
    this.back = back
  }
  override check(model: Readonly<Model>) {
    return (model.senders.get(this.sender)?.sent.length ?? 0) > this.back
  }
  act(model: Model, real: LogWorld) {
    const { id, sent } = senderOf(model, real, this.sender)
    const { partition, ...batch } = sent.at(-1 - this.back)!
    sendTo(model, real, partition, { producerId: id, ...batch })
  }
}

/** The producer begins anew with a higher epoch: with sequence 0, or wrongly with another. */
export class BumpEpoch extends LogCommand {
  readonly sender: number
  readonly next: number
  constructor(sender: number, next: number) {
    super()
    this.sender = sender
    this.next = next
  }
  act(model: Model, real: LogWorld) {
    const sender = senderOf(model, real, this.sender)
    sender.epoch++
    sender.next = this.next
  }
}

const wrap = (sequence: number) => (sequence + 2 ** 31) % 2 ** 31
/** Where producers begin that the partition does not know: anywhere, also just before the numbers end. */
export const FIRST_SEQUENCES = [0, 5, 2 ** 31 - 3]

function senderOf(model: Model, real: LogWorld, which: number): Sender {
  const known = model.senders.get(which)
  if (known !== undefined) return known
  const sender = { id: real.initProducerId(), epoch: 0, next: FIRST_SEQUENCES[which], sent: [] }
  model.senders.set(which, sender)
  return sender
}
