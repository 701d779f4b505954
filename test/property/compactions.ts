/**
 * Histories of a compacted partition that the model (`Partition`) and the broker go through side by side: keyed records and tombstones,
 * batches of idempotent producers sent once or again, DeleteRecords, time in which the cleaner works or does not, and a reader who sees
 * the log from its beginning each time.
 */

import * as fc from 'fast-check'
import { expect } from 'vitest'
import { Consumer } from '../../src/client/index.ts'
import { compactedView, OutOfOrderSequenceError, Partition } from '../../src/model/index.ts'
import { initProducerId } from '../../src/protocol/apis/init-producer-id.ts'
import type { RecordInput } from '../../src/records/batch-builder.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { World } from './world.ts'

const TOPIC = 'compacted'
const PLACE = { topic: TOPIC, partition: 0 }
const BACKOFF_MS = 1_000
/** A segment of so many bytes takes the largest batch of these histories, and of two of the smallest only one. */
const ONE_BATCH = 130
const DAY_MS = 86_400_000

type Value = string | null
type Model = {
  readonly log: Partition<string, Value>
  /** The base offset of each batch. */
  readonly bases: number[]
  readonly isOneBatchEach: boolean
  readonly keepsTombstones: boolean
  readonly sent: Map<number, { sequence: number; records: [string, Value][] }[]>
  values: number
}

class CompactedWorld {
  readonly world: World
  readonly #producers = new Map<number, number>()

  constructor(segmentBytes: number, deleteRetentionMs: number) {
    const configs = {
      'cleanup.policy': 'compact',
      'internal.segment.bytes': String(segmentBytes),
      'min.cleanable.dirty.ratio': '0',
      'delete.retention.ms': String(deleteRetentionMs),
    }
    const broker = { 'log.cleaner.backoff.ms': String(BACKOFF_MS) }
    this.world = new World([{ name: TOPIC, partitions: 1, configs }], broker)
  }

  produce(records: [string, Value][], numbered?: { producer: number; sequence: number }) {
    const timestamp = this.world.env.now()
    const inputs: RecordInput[] = records.map(([key, value]) => ({
      key: utf8Encode(key),
      value: value === null ? null : utf8Encode(value),
      timestamp,
    }))
    if (numbered === undefined) return this.world.produce(TOPIC, 0, { records: inputs })
    const producerId = this.producerId(numbered.producer)
    return this.world.produce(TOPIC, 0, {
      records: inputs,
      producerId,
      producerEpoch: 0,
      baseSequence: numbered.sequence,
    })
  }

  producerId(which: number): number {
    const known = this.#producers.get(which)
    if (known !== undefined) return known
    const { client } = this.world
    const body = { transactionalId: null, transactionTimeoutMs: 60_000 }
    const { producerId } = this.world.good(client.request(initProducerId, body))
    this.#producers.set(which, producerId)
    return producerId
  }

  /** Everything that a new reader gets. */
  read(): { offset: number; key: string; value: Value }[] {
    const consumer = new Consumer(this.world.client, { autoOffsetReset: 'earliest', maxWaitMs: 10 })
    consumer.assign([PLACE])
    const { end } = this.world.bounds(TOPIC, 0)
    const found: { offset: number; key: string; value: Value }[] = []
    for (let tries = 0; consumer.positionNow(PLACE)?.offset !== end; tries++) {
      if (tries > 200) throw new Error('the reader does not come to the end')
      for (const { offset, key, value } of this.world.good(consumer.poll(100))) {
        found.push({ offset, key: utf8Decode(key!), value: value === null ? null : utf8Decode(value) })
      }
    }
    this.world.wait(consumer.close())
    return found
  }
}

abstract class Act implements fc.Command<Model, CompactedWorld> {
  check(_model: Readonly<Model>): boolean {
    return true
  }
  run(model: Model, real: CompactedWorld): void {
    this.act(model, real)
    const seen = real.read()
    const all = model.log.read(model.log.startOffset, 10_000)
    // Nothing that was not written, at the offset it was written at, and in order.
    const byOffset = new Map(all.map(record => [record.offset, record]))
    for (const { offset, key, value } of seen) expect(byOffset.get(offset)).toMatchObject({ key, value })
    expect(seen.map(({ offset }) => offset)).toEqual(seen.map(({ offset }) => offset).sort((a, b) => a - b))
    expect(compactedView(seen)).toEqual(compactedView(all))
    expect(real.world.bounds(TOPIC, 0).end).toBe(model.log.endOffset)
  }
  abstract act(model: Model, real: CompactedWorld): void
  toString() {
    return `${this.constructor.name} ${JSON.stringify(this)}`
  }
}

const named = (model: Model, keys: readonly (string | null)[]): [string, Value][] =>
  keys.map(key => (key === null ? ['a', null] : [key, `v${model.values++}`]))

class Append extends Act {
  readonly keys: readonly (string | null)[]
  constructor(keys: readonly (string | null)[]) {
    super()
    this.keys = keys
  }
  act(model: Model, real: CompactedWorld) {
    const records = named(model, this.keys)
    model.bases.push(model.log.endOffset)
    for (const [key, value] of records) model.log.append(key, value)
    expect(real.produce(records)).toMatchObject({ error: 'NONE', offset: model.bases.at(-1) })
  }
}

/** A batch of an idempotent producer: the next one, or one of those before again. */
class Send extends Act {
  readonly producer: number
  readonly keys: readonly (string | null)[]
  readonly back: number
  constructor(producer: number, keys: readonly (string | null)[], back: number) {
    super()
    this.producer = producer
    this.keys = keys
    this.back = back
  }
  act(model: Model, real: CompactedWorld) {
    const sent = model.sent.get(this.producer) ?? []
    model.sent.set(this.producer, sent)
    const last = sent.at(-1)
    const again = sent.at(-this.back)
    const next = { sequence: last ? last.sequence + last.records.length : 0, records: named(model, this.keys) }
    const batch = this.back > 0 && again !== undefined ? again : next
    const base = model.log.endOffset
    let expected: { error: string; offset: number }
    try {
      const records = batch.records.map(([key, value]) => ({ key, value }))
      const producerId = real.producerId(this.producer)
      const { offset, duplicate } = model.log.produce({ producerId, epoch: 0, sequence: batch.sequence, records })
      expected = { error: 'NONE', offset }
      if (!duplicate) {
        model.bases.push(base)
        sent.push(batch)
      }
    } catch (error) {
      if (!(error instanceof OutOfOrderSequenceError)) throw error
      expected = { error: 'OUT_OF_ORDER_SEQUENCE_NUMBER', offset: -1 }
    }
    expect(real.produce(batch.records, { producer: this.producer, sequence: batch.sequence })).toMatchObject(expected)
  }
}

/** The cleaner has its time. What it left behind is exactly what the model's compaction leaves of the closed segments. */
class Clean extends Act {
  act(model: Model, real: CompactedWorld) {
    real.world.env.advance(BACKOFF_MS + 200)
    if (!model.isOneBatchEach) return
    // The active segment has the last batch, and is never cleaned.
    const activeFrom = model.bases.at(-1) ?? 0
    const closed = new Partition<string, Value>()
    const all = model.log.read(0, 10_000)
    for (const { key, value } of all.slice(0, activeFrom)) closed.append(key, value)
    closed.compact()
    const left = [...closed.read(0, 10_000), ...all.slice(activeFrom)].map(({ offset, key, value }) => ({
      offset,
      key,
      value,
    }))
    const seen = real.read()
    if (model.keepsTombstones) expect(seen).toEqual(left)
    else expect(seen.filter(({ value }) => value !== null)).toEqual(left.filter(({ value }) => value !== null))
  }
}

class Wait extends Act {
  readonly ms: number
  constructor(ms: number) {
    super()
    this.ms = ms
  }
  act(_model: Model, real: CompactedWorld) {
    real.world.env.advance(this.ms)
  }
}

// Null stands for a tombstone of key a.
const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', null), { minLength: 1, maxLength: 3 })
const commands = [
  keys.map(each => new Append(each)),
  keys.map(each => new Append(each)),
  fc.tuple(fc.nat(1), keys, fc.constantFrom(0, 0, 0, 1, 2, 6)).map(args => new Send(...args)),
  fc.constant(new Clean()),
  fc.integer({ min: 1, max: 900 }).map(ms => new Wait(ms)),
]

/** The property: whatever happens, model and broker agree. */
export function compactionHistories() {
  return fc.property(
    fc.constantFrom(ONE_BATCH, ONE_BATCH, 300, 1_000),
    fc.constantFrom(DAY_MS, 0, 1_500),
    fc.commands(commands, { size: '+1', maxCommands: 40 }),
    (segmentBytes, deleteRetentionMs, history) => {
      const model: Model = {
        log: new Partition<string, Value>(),
        bases: [],
        isOneBatchEach: segmentBytes === ONE_BATCH,
        keepsTombstones: deleteRetentionMs === DAY_MS,
        sent: new Map(),
        values: 0,
      }
      fc.modelRun(() => ({ model, real: new CompactedWorld(segmentBytes, deleteRetentionMs) }), history)
    },
  )
}
