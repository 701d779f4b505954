// The log against a model of plain arrays: the same random history gives the same offsets, the same batches read at any
// offset, the same answers by time; and whatever happened, opening the files again gives the same log.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchOf, errorOf, makeLog } from '../../test/support/log.ts'
import { batchSize, eachBatch } from '../records/batch-header.ts'
import { buildEndTransactionMarker } from '../records/control.ts'
import { concat } from '../util/byte-writer.ts'
import { IndexCache } from './index-cache.ts'
import type { Log } from './log.ts'

const NOW = 1_700_000_000_000
const SEGMENT_BYTES = 700
const RETENTION_BYTES = 1500

interface ModelBatch {
  base: number
  bytes: Uint8Array
  timestamps: number[]
  epoch: number
  segment: number
}

interface Producer {
  id: number
  sequence: number
  sent: { sequence: number; count: number; base: number }[]
}

/** What the log should be, in the plainest way. Deleted batches are taken out; offsets are never used again. */
class Model {
  batches: ModelBatch[] = []
  segments = [0]
  start = 0
  end = 0
  highWatermark = 0

  sizeOf(segment: number): number {
    return this.batches.filter(batch => batch.segment === segment).reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  append(bytes: Uint8Array, timestamps: number[], epoch: number): void {
    const active = this.segments[this.segments.length - 1]
    if (this.sizeOf(active) + bytes.length > SEGMENT_BYTES) this.roll()
    const segment = this.segments[this.segments.length - 1]
    this.batches.push({ base: this.end, bytes, timestamps, epoch, segment })
    this.end += timestamps.length
  }

  roll(): void {
    if (this.sizeOf(this.segments[this.segments.length - 1]) > 0) this.segments.push(this.end)
  }

  truncate(offset: number): void {
    if (offset >= this.end) return
    if (offset < this.segments[0]) {
      this.batches = []
      this.segments = [offset]
      this.start = this.end = this.highWatermark = offset
      return
    }
    const cut = this.batches.find(batch => batch.base + batch.timestamps.length > offset)
    this.end = cut ? Math.min(offset, cut.base) : offset
    this.batches = this.batches.filter(batch => batch.base + batch.timestamps.length <= this.end)
    this.segments = this.segments.filter((base, index) => index === 0 || base <= offset)
    this.highWatermark = Math.min(this.highWatermark, this.end)
    this.start = Math.min(this.start, this.end)
  }

  retain(): void {
    let excess = this.batches.reduce((sum, { bytes }) => sum + bytes.length, 0) - RETENTION_BYTES
    for (;;) {
      const [first, second] = this.segments
      const size = this.sizeOf(first)
      if (second === undefined && size === 0) return
      if ((second ?? this.end) > this.highWatermark) return
      const isBelowStart = second !== undefined && second <= this.start
      if (!isBelowStart && size > excess) return
      excess -= size
      this.batches = this.batches.filter(batch => batch.segment !== first)
      this.segments = second === undefined ? [this.end] : this.segments.slice(1)
      this.start = Math.max(this.start, this.segments[0])
    }
  }

  read(offset: number, maxBytes: number, minOneBatch: boolean, bound: number): Uint8Array[] {
    if (offset >= bound) return []
    const isWanted = (batch: ModelBatch) => batch.base + batch.timestamps.length > offset
    const first = this.batches.find(isWanted)
    const found: Uint8Array[] = []
    let size = 0
    for (const batch of this.batches.filter(isWanted)) {
      if (batch.segment !== first?.segment || batch.base + batch.timestamps.length > bound) break
      size += batch.bytes.length
      if (size > maxBytes && !(found.length === 0 && minOneBatch)) break
      found.push(batch.bytes)
    }
    return found
  }

  /** Records in the log with their times. */
  records(): { offset: number; timestamp: number; epoch: number }[] {
    return this.batches
      .flatMap(({ base, timestamps, epoch }) =>
        timestamps.map((timestamp, index) => ({ offset: base + index, timestamp, epoch })),
      )
      .filter(({ offset }) => offset >= this.start)
  }
}

type Step =
  | { do: 'append'; sizes: number[]; time: number; newEpoch: boolean }
  | { do: 'send'; count: number }
  | { do: 'resend'; back: number }
  | { do: 'replicate' | 'truncate' | 'deleteRecords'; part: number }
  | { do: 'read'; part: number; maxBytes: number; minOneBatch: boolean; isolation: 'log_end' | 'high_watermark' }
  | { do: 'transact'; id: number; end: 'open' | 'COMMIT' | 'ABORT' }
  | { do: 'roll' | 'retain' | 'reopen' | 'crash' | 'checkpoint' | 'startOver' }

const part = fc.double({ min: 0, max: 1, noNaN: true })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      sizes: fc.array(fc.integer({ min: 0, max: 150 }), { minLength: 1, maxLength: 4 }),
      time: fc.integer({ min: 0, max: 1000 }),
      newEpoch: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('send' as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resend' as const), back: fc.integer({ min: 0, max: 7 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('replicate' as const), part }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('truncate' as const, 'deleteRecords' as const), part }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      part,
      maxBytes: fc.integer({ min: 0, max: 1200 }),
      minOneBatch: fc.boolean(),
      isolation: fc.constantFrom('log_end' as const, 'high_watermark' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('transact' as const),
      id: fc.integer({ min: 1001, max: 1003 }),
      end: fc.constantFrom('open' as const, 'COMMIT' as const, 'ABORT' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'roll' as const,
        'retain' as const,
        'reopen' as const,
        'crash' as const,
        'checkpoint' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('startOver' as const, 'retain' as const) }) },
)

class Run {
  readonly durable: boolean
  readonly fixture
  readonly model = new Model()
  log: Log
  epoch = 0
  producer: Producer = { id: 1, sequence: 0, sent: [] }
  /** The recovery point that was written down last: it is lowered at once when the log is cut, and raised now and then. */
  recoveryPoint = 0

  constructor(durable: boolean) {
    this.durable = durable
    this.fixture = makeLog(
      {
        segmentBytes: SEGMENT_BYTES,
        indexIntervalBytes: 150,
        retentionBytes: RETENTION_BYTES,
        retentionMs: -1,
        fileDeleteDelayMs: 10,
      },
      {
        durable,
        // Room for the indexes of about one segment.
        indexCache: new IndexCache(100),
        listener: { truncated: () => (this.recoveryPoint = Math.min(this.recoveryPoint, this.log.recoveryPoint)) },
      },
    )
    this.log = this.fixture.log
  }

  take(step: Step): void {
    const { model, log } = this
    switch (step.do) {
      case 'append': {
        if (step.newEpoch) this.epoch++
        const timestamps = step.sizes.map((size, index) => NOW - 10_000 + step.time + ((size * 7 + index) % 50))
        this.append(
          timestamps,
          step.sizes.map(size => new Uint8Array(size).fill(model.end)),
        )
        break
      }
      case 'send': {
        const { id, sequence } = this.producer
        const base = this.append(Array(step.count).fill(NOW), [], { id, sequence })
        this.producer.sent.push({ sequence, count: step.count, base })
        this.producer.sequence += step.count
        break
      }
      case 'resend':
        this.resend(this.producer.sent.at(-1 - step.back), step.back)
        break
      case 'replicate': {
        const offset = model.highWatermark + Math.round(step.part * (model.end - model.highWatermark))
        expect(log.updateHighWatermark(offset)).toBe(offset > model.highWatermark)
        model.highWatermark = Math.max(model.highWatermark, offset)
        break
      }
      case 'truncate': {
        const offset = Math.round(step.part * (model.end + 1))
        log.truncateTo(offset)
        model.truncate(offset)
        this.producer = { id: this.producer.id + 1, sequence: 0, sent: [] }
        break
      }
      case 'deleteRecords': {
        const offset = Math.round(step.part * model.end)
        const error = errorOf(() => log.deleteRecordsBefore(offset))
        expect(error).toBe(offset > model.highWatermark ? 'OFFSET_OUT_OF_RANGE' : 'NONE')
        if (error === 'NONE') model.start = Math.max(model.start, offset)
        break
      }
      case 'read': {
        const offset = model.start + Math.round(step.part * (model.end - model.start))
        const bound = step.isolation === 'log_end' ? model.end : model.highWatermark
        const expected = model.read(offset, step.maxBytes, step.minOneBatch, bound)
        expect(concat(log.read(offset, step).parts)).toEqual(concat(expected))
        break
      }
      case 'roll':
        log.roll()
        model.roll()
        break
      case 'retain':
        log.applyRetention(NOW)
        model.retain()
        break
      case 'startOver':
        log.truncateFullyAndStartAt(model.end + 5)
        Object.assign(model, new Model(), { segments: [model.end + 5], start: model.end + 5, end: model.end + 5 })
        model.highWatermark = model.end
        this.producer = { id: this.producer.id + 1, sequence: 0, sent: [] }
        break
      case 'transact':
        this.transact(step.id, step.end)
        break
      case 'checkpoint':
        log.checkpoint()
        this.fixture.env.settle()
        if (this.durable) expect(log.recoveryPoint).toBe(log.logEndOffset)
        this.recoveryPoint = log.recoveryPoint
        break
      case 'reopen':
      case 'crash':
        this.reopen(step.do)
    }
  }

  /** Writes data of a transaction, and ends it or not. */
  transact(id: number, end: 'open' | 'COMMIT' | 'ABORT'): void {
    const { log, model } = this
    const sequence =
      (log
        .producers()
        .find(({ producerId }) => producerId === id)
        ?.batches.at(-1)?.lastSequence ?? -1) + 1
    const batches = [
      batchOf([{ timestamp: NOW }], {
        producerId: id,
        producerEpoch: 0,
        baseSequence: sequence,
        isTransactional: true,
      }),
    ]
    if (end !== 'open') {
      batches.push(
        buildEndTransactionMarker({ type: end, coordinatorEpoch: 0, producerId: id, producerEpoch: 0, timestamp: NOW }),
      )
    }
    for (const [index, batch] of batches.entries()) {
      const origin = index === 0 ? 'client' : 'coordinator'
      log.appendAsLeader(batch, { leaderEpoch: this.epoch, now: NOW, origin })
      model.append(batch.slice(), [NOW], this.epoch)
    }
  }

  append(timestamps: number[], values: Uint8Array[], producer?: { id: number; sequence: number }): number {
    const { model, log } = this
    const batch = batchOf(
      timestamps.map((timestamp, index) => ({ timestamp, value: values[index] ?? null })),
      producer && { producerId: producer.id, producerEpoch: 0, baseSequence: producer.sequence },
    )
    const result = log.appendAsLeader(batch, { leaderEpoch: this.epoch, now: NOW, origin: 'client' })
    expect(result).toMatchObject({
      firstOffset: model.end,
      lastOffset: model.end + timestamps.length - 1,
      maxTimestamp: Math.max(...timestamps),
      duplicate: false,
    })
    model.append(batch.slice(), timestamps, this.epoch)
    return result.firstOffset
  }

  resend(sent: Producer['sent'][number] | undefined, back: number): void {
    if (sent === undefined) return
    const batch = batchOf(
      Array.from({ length: sent.count }, () => ({ timestamp: NOW })),
      { producerId: this.producer.id, producerEpoch: 0, baseSequence: sent.sequence },
    )
    const again = () => this.log.appendAsLeader(batch, { leaderEpoch: this.epoch, now: NOW, origin: 'client' })
    if (back < 5) expect(again()).toMatchObject({ firstOffset: sent.base, duplicate: true })
    else expect(errorOf(again)).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
  }

  /** Opens the log again, after it was closed or just left as it was, from the recovery point that was written down. */
  reopen(how: 'reopen' | 'crash'): void {
    const before = this.log
    const { env } = this.fixture
    if (how === 'reopen') {
      before.close()
      env.settle()
      this.recoveryPoint = before.recoveryPoint
      if (this.durable) expect(before.recoveryPoint).toBe(before.logEndOffset)
    }
    const wanted = stateOf(before, this.epoch)
    if (how === 'crash') before.abandon()
    const { recoveryPoint } = this
    this.log = this.fixture.reopen({ highWatermark: before.highWatermark, recoveryPoint })
    expect(stateOf(this.log, this.epoch)).toEqual(wanted)
  }

  check(): void {
    const { model, log } = this
    expect({
      start: log.logStartOffset,
      end: log.logEndOffset,
      highWatermark: log.highWatermark,
      segments: log.segmentCount,
      size: log.sizeInBytes,
    }).toEqual({
      start: model.start,
      end: model.end,
      highWatermark: model.highWatermark,
      segments: model.segments.length,
      size: model.batches.reduce((sum, { bytes }) => sum + bytes.length, 0),
    })
    const records = model.records()
    for (const { offset, epoch } of records) expect(log.epochForOffset(offset)).toBe(epoch)
    for (const timestamp of [NOW - 10_000, NOW - 9_500, NOW - 9_200, NOW, NOW + 1]) {
      const expected = records.find(record => record.timestamp >= timestamp)
      expect(log.offsetForTimestamp(timestamp)).toEqual(
        expected && { offset: expected.offset, timestamp: expected.timestamp, leaderEpoch: expected.epoch },
      )
    }
    const max = Math.max(-1, ...records.map(record => record.timestamp))
    expect(log.maxTimestamp()?.offset).toBe(records.find(record => record.timestamp === max)?.offset)
    const readable = model.batches.filter(batch => batch.base + batch.timestamps.length > model.start)
    const bytes = readable.reduce((sum, batch) => sum + batch.bytes.length, 0)
    expect(log.availableBytes(model.start, 'log_end', 1e9)).toBe(bytes)
  }
}

/** What a log says that does not depend on whether it was opened again. */
function stateOf(log: Log, epoch: number) {
  const epochs = Array.from({ length: epoch + 3 }, (_, index) => log.endOffsetForEpoch(index - 1))
  return {
    segments: log.segmentCount,
    latestEpoch: log.latestEpoch,
    epochs,
    producers: log.producers().sort((a, b) => a.producerId - b.producerId),
    aborted: log.abortedTransactions(),
    // That a marker is not replicated yet is forgotten with the process, in Kafka too: a snapshot has open transactions only.
    lastStableOffset: log.highWatermark === log.logEndOffset && log.lastStableOffset,
    maxTimestamp: log.maxTimestamp(),
  }
}

describe('Log, against a model of plain arrays', () => {
  it.each([
    ['memory', false],
    ['a storage that lasts', true],
  ])('has the same history in %s, whatever comes', (_, durable) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), steps => {
        const run = new Run(durable)
        for (const each of steps) {
          run.take(each)
          run.check()
        }
        run.reopen('crash')
        run.check()
        run.reopen('reopen')
        run.check()
      }),
      { numRuns: 300 },
    )
  })

  it('drops no whole batch and keeps no torn one, wherever the file breaks off', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 80 }), { minLength: 1, maxLength: 8 }), part, (sizes, part) => {
        const { log, storage, reopen } = makeLog({}, { durable: true })
        for (const size of sizes) {
          log.appendAsLeader(batchOf([{ value: new Uint8Array(size) }]), {
            leaderEpoch: 0,
            now: NOW,
            origin: 'client',
          })
        }
        const whole = concat(log.read(0, { maxBytes: 1e9, minOneBatch: true, isolation: 'log_end' }).parts)
        const cut = Math.round(part * whole.length)
        storage.open('t-0/00000000000000000000.log').truncate(cut)
        let kept = 0
        let count = 0
        eachBatch(whole, at => {
          if (at + batchSize(whole, at) > cut) return
          kept = at + batchSize(whole, at)
          count++
        })
        const again = reopen()
        expect([again.logEndOffset, again.sizeInBytes]).toEqual([count, kept])
      }),
    )
  })
})
