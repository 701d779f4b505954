// Section 6: the idempotent producer, both sides.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidProducerEpochError, OutOfOrderSequenceError } from './errors.ts'
import { IdempotentProducer } from './idempotent-producer.ts'
import { Partition } from './partition.ts'

const records = (...values: number[]) => values.map(value => ({ key: 'k', value }))
const batch = (sequence: number, count = 1, rest: { producerId?: number; epoch?: number } = {}) => ({
  producerId: 1,
  epoch: 0,
  sequence,
  records: records(...Array(count).keys()),
  ...rest,
})
const newPartition = () => new Partition<string, number>()
const values = (partition: Partition<string, number>) => partition.read(partition.startOffset, 1000).map(r => r.value)

describe('partition.produce', () => {
  it('appends a batch and returns the offset of its first record', () => {
    const partition = newPartition()
    partition.append('k', -1)
    expect(partition.produce(batch(0, 3))).toEqual({ offset: 1, duplicate: false })
    expect(partition.produce(batch(3))).toEqual({ offset: 4, duplicate: false })
    expect(values(partition)).toEqual([-1, 0, 1, 2, 0])
  })

  it('keeps timestamps and headers', () => {
    const partition = newPartition()
    const record = { key: null, value: 1, timestamp: 9, headers: { h: 1 } }
    partition.produce({ producerId: 1, epoch: 0, sequence: 0, records: [record] })
    expect(partition.read(0)).toEqual([{ offset: 0, ...record }])
  })

  it('answers a resent batch of the last five with its offset and appends nothing', () => {
    const partition = newPartition()
    for (let i = 0; i < 6; i++) partition.produce(batch(i * 2, 2))
    for (let i = 1; i < 6; i++) expect(partition.produce(batch(i * 2, 2))).toEqual({ offset: i * 2, duplicate: true })
    expect(() => partition.produce(batch(0, 2))).toThrow(OutOfOrderSequenceError)
    expect(partition.endOffset).toBe(12)
  })

  it('takes it for the same batch only if first and last sequence are the same', () => {
    const partition = newPartition()
    partition.produce(batch(0, 3))
    expect(() => partition.produce(batch(0, 2))).toThrow(OutOfOrderSequenceError)
    expect(() => partition.produce(batch(1, 2))).toThrow(OutOfOrderSequenceError)
    expect(partition.endOffset).toBe(3)
  })

  it('a gap is OutOfOrderSequenceError', () => {
    const partition = newPartition()
    partition.produce(batch(0))
    expect(() => partition.produce(batch(2))).toThrow(OutOfOrderSequenceError)
    expect(partition.produce(batch(1))).toEqual({ offset: 1, duplicate: false })
  })

  it('a lower epoch is InvalidProducerEpochError, also for what would be a duplicate', () => {
    const partition = newPartition()
    partition.produce(batch(0, 1, { epoch: 1 }))
    expect(() => partition.produce(batch(0))).toThrow(InvalidProducerEpochError)
    expect(() => partition.produce(batch(1))).toThrow(InvalidProducerEpochError)
    expect(partition.endOffset).toBe(1)
  })

  it('a higher epoch must start at sequence 0, and knows no batch of the old one', () => {
    const partition = newPartition()
    partition.produce(batch(0))
    expect(() => partition.produce(batch(1, 1, { epoch: 1 }))).toThrow(OutOfOrderSequenceError)
    // The refused batch must not have fenced the old epoch.
    expect(partition.produce(batch(1))).toEqual({ offset: 1, duplicate: false })
    expect(partition.produce(batch(0, 1, { epoch: 1 }))).toEqual({ offset: 2, duplicate: false })
    expect(partition.produce(batch(0, 1, { epoch: 1 }))).toEqual({ offset: 2, duplicate: true })
  })

  it('an unknown producer may start anywhere', () => {
    const partition = newPartition()
    expect(partition.produce(batch(77, 1, { producerId: 5, epoch: 3 }))).toEqual({ offset: 0, duplicate: false })
    expect(() => partition.produce(batch(77, 2, { producerId: 5, epoch: 3 }))).toThrow(OutOfOrderSequenceError)
    expect(partition.produce(batch(78, 1, { producerId: 5, epoch: 3 })).offset).toBe(1)
  })

  it('the sequence wraps after 2147483647 to 0, also inside a batch', () => {
    const partition = newPartition()
    partition.produce(batch(2147483646))
    expect(partition.produce(batch(2147483647, 3))).toEqual({ offset: 1, duplicate: false })
    expect(partition.produce(batch(2147483647, 3))).toEqual({ offset: 1, duplicate: true })
    expect(partition.produce(batch(2))).toEqual({ offset: 4, duplicate: false })
    const other = newPartition()
    other.produce(batch(2147483647))
    expect(other.produce(batch(0)).offset).toBe(1)
  })

  it('retention does not make it forget', () => {
    const partition = newPartition()
    partition.produce(batch(0))
    partition.retainCount(0)
    expect(partition.produce(batch(0))).toEqual({ offset: 0, duplicate: true })
  })

  it.each([
    [{ producerId: -1 }, /producerId/],
    [{ epoch: -1 }, /epoch/],
    [{ epoch: 32768 }, /epoch/],
    [{ sequence: -1 }, /sequence/],
    [{ sequence: 2147483648 }, /sequence/],
    [{ sequence: 0.5 }, /sequence/],
    [{ records: [] }, /records/],
    [{ records: [{ key: 'k', value: 1, timestamp: -5 }] }, /timestamp/],
  ])('bad input %j: RangeError, nothing appended or remembered', (wrong, message) => {
    const partition = newPartition()
    expect(() => partition.produce({ ...batch(0), ...wrong })).toThrow(RangeError)
    expect(() => partition.produce({ ...batch(0), ...wrong })).toThrow(message)
    expect(() => partition.produce({ ...batch(0), records: 'ab' as never })).toThrow(TypeError)
    expect(partition.endOffset).toBe(0)
    expect(partition.produce(batch(9)).duplicate).toBe(false)
  })
})

describe('IdempotentProducer', () => {
  it('sends, and resends the n-th last batch as it was', () => {
    const partition = newPartition()
    const producer = new IdempotentProducer(partition)
    expect(producer.send(...records(1, 2))).toEqual({ offset: 0, duplicate: false })
    expect(producer.send(...records(3))).toEqual({ offset: 2, duplicate: false })
    expect(producer.resend()).toEqual({ offset: 2, duplicate: true })
    expect(producer.resend(2)).toEqual({ offset: 0, duplicate: true })
    expect(producer.send(...records(4))).toEqual({ offset: 3, duplicate: false })
    expect(values(partition)).toEqual([1, 2, 3, 4])
  })

  it('two producers do not take each other’s batches for their own', () => {
    const partition = newPartition()
    partition.produce(batch(0, 1, { producerId: 7 }))
    const producers = [new IdempotentProducer(partition), new IdempotentProducer(partition)]
    for (const producer of producers) expect(producer.send(...records(5)).duplicate).toBe(false)
    expect(new Set([7, ...producers.map(producer => producer.producerId)]).size).toBe(3)
  })

  it('bumpEpoch fences the producer of old', () => {
    const partition = newPartition()
    const old = new IdempotentProducer(partition, { producerId: 4 })
    const young = new IdempotentProducer(partition, { producerId: 4 })
    old.send(...records(1))
    young.bumpEpoch()
    expect([young.producerId, young.epoch]).toEqual([4, 1])
    expect(young.send(...records(2))).toEqual({ offset: 1, duplicate: false })
    expect(() => old.send(...records(3))).toThrow(InvalidProducerEpochError)
    expect(() => old.resend()).toThrow(InvalidProducerEpochError)
    expect(values(partition)).toEqual([1, 2])
  })

  it('a batch that was refused was not sent: its sequence is used again', () => {
    const partition = newPartition()
    const producer = new IdempotentProducer(partition)
    producer.send(...records(1))
    expect(() => producer.send()).toThrow(RangeError)
    expect(producer.send(...records(2)).offset).toBe(1)
  })

  it('after the last epoch it becomes another producer', () => {
    const partition = newPartition()
    const producer = new IdempotentProducer(partition, { producerId: 0, epoch: 32767 })
    producer.send(...records(1))
    producer.bumpEpoch()
    expect([producer.producerId, producer.epoch]).toEqual([1, 0])
    expect(producer.send(...records(2)).offset).toBe(1)
  })

  it('bad input', () => {
    const partition = newPartition()
    const producer = new IdempotentProducer(partition)
    expect(() => producer.resend()).toThrow(RangeError)
    producer.send(...records(1))
    for (const n of [0, 2, -1, 0.5]) expect(() => producer.resend(n)).toThrow(/\bn\b/)
    expect(() => new IdempotentProducer(partition, { epoch: 40000 })).toThrow(/epoch/)
    expect(() => new IdempotentProducer(partition, { producerId: -2 })).toThrow(/producerId/)
  })

  it('however often batches are sent again, each lands once and in order', () => {
    const steps = fc.array(
      fc.oneof(fc.record({ send: fc.integer({ min: 1, max: 4 }) }), fc.record({ again: fc.nat(4) })),
    )
    fc.assert(
      fc.property(steps, history => {
        const partition = newPartition()
        const producer = new IdempotentProducer(partition)
        const sent: number[][] = []
        for (const step of history) {
          if ('send' in step) {
            const next = Array.from({ length: step.send }, (_, i) => sent.flat().length + i)
            expect(producer.send(...records(...next))).toEqual({ offset: sent.flat().length, duplicate: false })
            sent.push(next)
          } else if (step.again < sent.length) {
            const [first] = sent[sent.length - 1 - step.again]
            expect(producer.resend(step.again + 1)).toEqual({ offset: first, duplicate: true })
          }
        }
        expect(values(partition)).toEqual(sent.flat())
      }),
    )
  })
})
