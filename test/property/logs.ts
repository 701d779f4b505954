/**
 * Histories of partitions and their reader that the model (`Partition`, `ConsumerGroup`) and the broker go through side by side:
 * numbered batches sent once, again or out of turn, retention and DeleteRecords, polls, seeks and commits of one group that
 * assigns itself what it reads.
 */

import * as fc from 'fast-check'
import { expect } from 'vitest'
import {
  type AutoOffsetReset,
  ConsumerGroup,
  InvalidProducerEpochError,
  OffsetOutOfRangeError,
  OutOfOrderSequenceError,
  Partition,
} from '../../src/model/index.ts'
import { LogWorld, type NewRecord, type StoredBatch } from './log-world.ts'

/** A segment of so many bytes takes the largest batch of these histories, and of two of the smallest only one. */
const ONE_BATCH = 120

/** A producer as the histories know it: what it is to send next, and all that it sent. */
interface Sender {
  id: number
  epoch: number
  next: number
  sent: { partition: number; epoch: number; sequence: number; records: NewRecord[] }[]
}

interface Model {
  readonly partitions: Partition<null, string>[]
  readonly group: ConsumerGroup<null, string>
  /** All batches of each partition, as the broker counted their bytes. */
  readonly batches: StoredBatch[][]
  readonly segmentBytes: number
  readonly senders: Map<number, Sender>
  values: number
}

abstract class LogCommand implements fc.Command<Model, LogWorld> {
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
function nameOf(call: () => void): string {
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

const partitionOf = (model: Model, chosen: number) => chosen % model.partitions.length

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

class Append extends LogCommand {
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
class Send extends LogCommand {
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
class Resend extends LogCommand {
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
class BumpEpoch extends LogCommand {
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
const FIRST_SEQUENCES = [0, 5, 2 ** 31 - 3]

function senderOf(model: Model, real: LogWorld, which: number): Sender {
  const known = model.senders.get(which)
  if (known !== undefined) return known
  const sender = { id: real.initProducerId(), epoch: 0, next: FIRST_SEQUENCES[which], sent: [] }
  model.senders.set(which, sender)
  return sender
}

class DeleteRecords extends LogCommand {
  readonly partition: number
  readonly offset: number
  constructor(partition: number, offset: number) {
    super()
    this.partition = partition
    this.offset = offset
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    const log = model.partitions[index]
    if (this.offset > log.endOffset) {
      expect(real.deleteRecordsBefore(index, this.offset)).toBe('OFFSET_OUT_OF_RANGE')
      return
    }
    log.retainCount(log.endOffset - this.offset)
    expect(real.deleteRecordsBefore(index, this.offset)).toBe('NONE')
  }
}

/**
 * Retention drops whole segments, so the broker keeps at least what the model keeps; where each batch is a segment, it keeps
 * no batch more than it must. Afterwards DeleteRecords brings it to where the model is.
 */
abstract class Retain extends LogCommand {
  act(model: Model, real: LogWorld) {
    const starts = model.partitions.map((_, index) => real.bounds(index).start)
    const now = this.retain(model, real)
    for (const [index, log] of model.partitions.entries()) {
      const { start } = real.bounds(index)
      expect(start).toBeGreaterThanOrEqual(starts[index])
      expect(start).toBeLessThanOrEqual(log.startOffset)
      if (model.segmentBytes === ONE_BATCH) this.keepsNoMore(model.batches[index], start, now)
      expect(real.deleteRecordsBefore(index, log.startOffset)).toBe('NONE')
    }
  }
  /** Answers when it was. */
  abstract retain(model: Model, real: LogWorld): number
  abstract keepsNoMore(batches: readonly StoredBatch[], start: number, now: number): void
}

class RetainTime extends Retain {
  readonly ms: number
  constructor(ms: number) {
    super()
    this.ms = ms
  }
  retain(model: Model, real: LogWorld) {
    const now = real.retain('retention.ms', this.ms)
    for (const log of model.partitions) log.retainTime(this.ms, now)
    return now
  }
  keepsNoMore(batches: readonly StoredBatch[], start: number, now: number) {
    // The newest record of a batch counts, even if DeleteRecords has taken it.
    const kept = batches.find(({ newest }) => now - newest <= this.ms)
    expect(start).toBeGreaterThanOrEqual(kept?.baseOffset ?? (batches.at(-1)?.lastOffset ?? -1) + 1)
  }
}

class RetainBytes extends Retain {
  readonly bytes: number
  constructor(bytes: number) {
    super()
    this.bytes = bytes
  }
  retain(model: Model, real: LogWorld) {
    const now = real.retain('retention.bytes', this.bytes)
    for (const [index, log] of model.partitions.entries()) {
      // A batch is as big as its bytes, and they all go with its last record.
      const sizes = new Map(model.batches[index].map(({ lastOffset, bytes }) => [lastOffset, bytes]))
      log.retainBytes(this.bytes, ({ offset }) => sizes.get(offset) ?? 0)
    }
    return now
  }
  keepsNoMore(batches: readonly StoredBatch[], start: number) {
    const kept = batches.filter(({ lastOffset }) => lastOffset >= start)
    const total = kept.reduce((sum, { bytes }) => sum + bytes, 0)
    // Kafka keeps at least so many bytes: one batch less, and it would be fewer.
    if (kept.length > 0) expect(total - kept[0].bytes).toBeLessThan(this.bytes)
  }
}

class Poll extends LogCommand {
  readonly partition: number
  readonly max: number
  constructor(partition: number, max: number) {
    super()
    this.partition = partition
    this.max = max
  }
  act({ partitions, group }: Model, real: LogWorld) {
    const index = this.partition % partitions.length
    let expected: unknown
    const error = nameOf(() => {
      const records = group.pollPartition(index, this.max)
      expected = records.map(({ offset, value, timestamp }) => ({ offset, value, timestamp }))
    })
    expect(real.poll(index, this.max)).toEqual(error === 'NONE' ? expected : error)
    if (error === 'NONE') expect(real.position(index)).toBe(group.position(index))
  }
}

class Seek extends LogCommand {
  readonly partition: number
  readonly offset: number
  constructor(partition: number, offset: number) {
    super()
    this.partition = partition
    this.offset = offset
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    model.group.seek(index, this.offset)
    real.seek(index, this.offset)
  }
}

class SeekToTime extends LogCommand {
  readonly partition: number
  readonly age: number
  constructor(partition: number, age: number) {
    super()
    this.partition = partition
    this.age = age
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    const timestamp = real.now - this.age
    model.group.seekToTime(index, timestamp)
    real.seekToTime(index, timestamp)
    expect(real.position(index)).toBe(model.group.position(index))
  }
}

class Commit extends LogCommand {
  act({ group, partitions }: Model, real: LogWorld) {
    group.commit()
    real.commit(partitions.map((_, partition) => ({ partition, offset: real.position(partition) ?? -1 })))
  }
}

class CommitThrough extends LogCommand {
  readonly partition: number
  readonly offset: number
  constructor(partition: number, offset: number) {
    super()
    this.partition = partition
    this.offset = offset
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    model.group.commitThrough(index, this.offset)
    // A client that never lowers what it committed has to look first; the broker stores what it is told.
    if (real.committed()[index] <= this.offset) real.commit([{ partition: index, offset: this.offset + 1 }])
  }
}

class Wait extends LogCommand {
  readonly ms: number
  constructor(ms: number) {
    super()
    this.ms = ms
  }
  act(_model: Model, real: LogWorld) {
    real.world.env.advance(this.ms)
  }
}

const index = fc.nat(1)
const ages = fc.array(fc.integer({ min: -200, max: 2_000 }), { minLength: 1, maxLength: 4 })
const sender = fc.nat(FIRST_SEQUENCES.length - 1)
const offset = fc.nat(12)
const skip = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 2 }) },
)
const send = fc.tuple(sender, ages, skip).map(args => new Send(...args))
const resend = fc.tuple(sender, fc.nat(6)).map(args => new Resend(...args))
const poll = fc.tuple(index, fc.nat(5)).map(args => new Poll(...args))

/** What comes twice comes twice as often. */
const commands = [
  fc.tuple(index, ages).map(args => new Append(...args)),
  send,
  send,
  send,
  resend,
  resend,
  poll,
  poll,
  fc.tuple(sender, fc.constantFrom(0, 0, 0, 1)).map(args => new BumpEpoch(...args)),
  fc.tuple(index, offset).map(args => new DeleteRecords(...args)),
  fc.integer({ min: 0, max: 3_000 }).map(ms => new RetainTime(ms)),
  fc.integer({ min: 0, max: 600 }).map(bytes => new RetainBytes(bytes)),
  fc.tuple(index, offset).map(args => new Seek(...args)),
  fc.tuple(index, fc.integer({ min: -200, max: 4_000 })).map(args => new SeekToTime(...args)),
  fc.constant(new Commit()),
  fc.tuple(index, offset).map(args => new CommitThrough(...args)),
  fc.integer({ min: 1, max: 1_500 }).map(ms => new Wait(ms)),
]

/** The property: whatever happens, model and broker agree. */
export function logHistories() {
  return fc.property(
    fc.integer({ min: 1, max: 2 }),
    fc.constantFrom(ONE_BATCH, 250, 1_000_000),
    fc.constantFrom<AutoOffsetReset>('earliest', 'latest', 'none'),
    fc.commands(commands, { size: '+1', maxCommands: 60 }),
    (count, segmentBytes, autoOffsetReset, history) => {
      const partitions = Array.from({ length: count }, () => new Partition<null, string>())
      const group = new ConsumerGroup(partitions, { autoOffsetReset })
      const batches = partitions.map(() => [])
      const model: Model = { partitions, group, batches, segmentBytes, senders: new Map(), values: 0 }
      fc.modelRun(() => ({ model, real: new LogWorld(count, segmentBytes, autoOffsetReset) }), history)
    },
  )
}
