import { describe, expect, it } from 'vitest'
import { batchOf, platform } from '../../../test/support/log.ts'
import type { BatchFate } from '../../core/compaction.ts'
import type { BatchInput, RecordInput } from '../../records/batch-builder.ts'
import { checkBatch, readBatchHeader } from '../../records/batch-header.ts'
import { readRecords } from '../../records/batch-reader.ts'
import { buildEndTransactionMarker } from '../../records/control.ts'
import { utf8Decode, utf8Encode } from '../../util/utf8.ts'
import type { Work } from './cost.ts'
import { BatchFilter } from './filter-batch.ts'

const T = 1_700_000_000_000
const HORIZON = T + 5000

function record(key: string, value: string | null, more: Partial<RecordInput> = {}): RecordInput {
  return { key: utf8Encode(key), value: value === null ? null : utf8Encode(value), ...more }
}

/** Filters with the records that stay given by their keys. */
function filter(bytes: Uint8Array, keep: string[], fate: Partial<BatchFate> = {}, isObsoleteMarker = false) {
  const batchFilter = new BatchFilter({
    platform,
    newHorizonMs: HORIZON,
    keeps: cursor =>
      keep.includes(utf8Decode(cursor.bytes.subarray(cursor.keyStart, cursor.keyStart + cursor.keyLength))),
  })
  const whole: BatchFate = { records: 'keep', keepsEmpty: false, ...fate }
  const steps = batchFilter.filter(bytes, readBatchHeader(bytes), whole, isObsoleteMarker)
  for (;;) {
    const step = steps.next()
    if (!step.done) continue
    if (step.value !== undefined) checkBatch(step.value, 0, platform.crc32c)
    return step.value
  }
}

function filtered(...args: Parameters<typeof filter>): Uint8Array {
  const result = filter(...args)
  if (result === undefined) throw new Error('nothing is left')
  return result
}

const places: Omit<BatchInput, 'records'> = {
  baseOffset: 100,
  partitionLeaderEpoch: 3,
  producerId: 9,
  producerEpoch: 2,
  baseSequence: 40,
  isTransactional: true,
}

describe('a batch of which', () => {
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
    it(`some records go keeps its place, and all about the others, with codec ${codec}`, () => {
      const headers = [
        { key: 'h', value: utf8Encode('x') },
        { key: '', value: null },
      ]
      const batch = batchOf(
        [
          record('a', '1', { timestamp: T + 7 }),
          record('b', '2', { timestamp: T + 3, headers }),
          record('c', '3', { timestamp: T + 9 }),
          record('d', '', { timestamp: T - 70_000 }),
        ],
        { ...places, codec },
      )
      const result = filtered(batch, ['b', 'd'])
      expect(readRecords(result, 0, platform)).toEqual(
        readRecords(batch, 0, platform).filter((_, index) => index % 2 === 1),
      )
      const { crc, sizeInBytes, ...before } = readBatchHeader(batch)
      expect(readBatchHeader(result)).toMatchObject({
        ...before,
        baseTimestamp: T + 3,
        maxTimestamp: T + 3,
        recordsCount: 2,
        lastOffset: 103,
        lastSequence: 43,
        hasDeleteHorizon: false,
      })
    })
  }

  it('all records stay is the same bytes', () => {
    const batch = batchOf([record('a', '1'), record('b', '2')], { codec: 'gzip' })
    expect(filter(batch, ['a', 'b'])).toBe(batch)
  })

  it('no record stays is gone, or a header that says of its producer what there is to know', () => {
    const batch = batchOf([record('a', '1'), record('b', '2', { timestamp: T + 4 })], { ...places, codec: 'zstd' })
    expect(filter(batch, [])).toBeUndefined()
    for (const result of [
      filtered(batch, [], { keepsEmpty: true }),
      filtered(batch, ['a'], { records: 'drop', keepsEmpty: true }),
    ]) {
      expect(result.length).toBe(61)
      const { crc, sizeInBytes, ...before } = readBatchHeader(batch)
      expect(readBatchHeader(result)).toMatchObject({
        ...before,
        attributes: before.attributes & ~7,
        codec: 0,
        baseTimestamp: -1,
        recordsCount: 0,
      })
      // Cleaned again it is what it was.
      expect(filter(result, [], { keepsEmpty: true })).toBe(result)
      expect(filter(result, [])).toBeUndefined()
    }
  })

  it('the log append time counts keeps that for all records', () => {
    const batch = batchOf([record('a', '1'), record('b', '2')], {
      timestampType: 'LogAppendTime',
      logAppendTime: T + 50,
    })
    const result = filtered(batch, ['b'])
    expect(readRecords(result, 0, platform)).toEqual(readRecords(batch, 0, platform).slice(1))
    expect(readBatchHeader(result)).toMatchObject({
      timestampType: 'LogAppendTime',
      baseTimestamp: T + 50,
      maxTimestamp: T + 50,
    })
  })

  it('the records have no times loses nothing', () => {
    const batch = batchOf([record('a', '1', { timestamp: -1 }), record('b', null, { timestamp: -1 })])
    expect(readRecords(filtered(batch, ['b']), 0, platform)).toEqual(readRecords(batch, 0, platform).slice(1))
    expect(readBatchHeader(filtered(batch, ['b'])).maxTimestamp).toBe(-1)
  })
})

describe('the delete horizon', () => {
  it('is given to a batch with a tombstone that stays, once, and changes no record', () => {
    for (const codec of ['none', 'lz4'] as const) {
      const batch = batchOf([record('a', '1', { timestamp: T + 7 }), record('b', null, { timestamp: T + 3 })], {
        ...places,
        codec,
      })
      const first = filtered(batch, ['a', 'b'])
      expect(readBatchHeader(first)).toMatchObject({
        hasDeleteHorizon: true,
        baseTimestamp: HORIZON,
        maxTimestamp: T + 7,
        codec: codec === 'none' ? 0 : 3,
      })
      expect(readRecords(first, 0, platform)).toEqual(readRecords(batch, 0, platform))
      expect(filter(first, ['a', 'b'])).toBe(first)
      const second = filtered(first, ['a'])
      expect(readBatchHeader(second)).toMatchObject({ hasDeleteHorizon: true, baseTimestamp: HORIZON })
      expect(readRecords(second, 0, platform)).toEqual(readRecords(batch, 0, platform).slice(0, 1))
    }
  })

  it('is not given for a tombstone that goes', () => {
    const batch = batchOf([record('a', '1'), record('b', null)])
    expect(readBatchHeader(filtered(batch, ['a'])).hasDeleteHorizon).toBe(false)
  })

  it('is given to a marker whose transaction has no data', () => {
    const marker = buildEndTransactionMarker({
      type: 'ABORT',
      coordinatorEpoch: 1,
      producerId: 9,
      producerEpoch: 0,
      timestamp: T,
      baseOffset: 7,
    })
    expect(filter(marker, [])).toBe(marker)
    const waiting = filtered(marker, [], {}, true)
    expect(readBatchHeader(waiting)).toMatchObject({
      isControl: true,
      hasDeleteHorizon: true,
      baseTimestamp: HORIZON,
      baseOffset: 7,
    })
    expect(readRecords(waiting, 0, platform)).toEqual(readRecords(marker, 0, platform))
    expect(filter(waiting, [], { records: 'drop' }, true)).toBeUndefined()
  })
})

it('a batch of many records is filtered in steps', () => {
  const batch = batchOf(Array.from({ length: 1000 }, (_, index) => record(`k${index}`, 'v')))
  const batchFilter = new BatchFilter({
    platform,
    newHorizonMs: HORIZON,
    keeps: cursor => cursor.offsetDelta % 2 === 0,
  })
  const steps = batchFilter.filter(batch, readBatchHeader(batch), { records: 'keep', keepsEmpty: false }, false)
  let count = 0
  for (let step = steps.next(); !step.done; step = steps.next()) count++
  expect(count).toBeGreaterThanOrEqual(6)
})

it('a large batch is compressed in steps', () => {
  const records = Array.from({ length: 3000 }, (_, index) => record(`k${index}`, `${index} ${'x'.repeat(100)}`))
  const batch = batchOf(records, { codec: 'gzip' })
  const batchFilter = new BatchFilter({
    platform,
    newHorizonMs: HORIZON,
    keeps: cursor => cursor.offsetDelta % 2 === 0,
  })
  const steps = batchFilter.filter(batch, readBatchHeader(batch), { records: 'keep', keepsEmpty: false }, false)
  const costs: number[] = []
  let step = steps.next()
  for (; !step.done; step = steps.next()) costs.push((step.value as Work).cost)
  const kept = readRecords(batch, 0, platform).filter((_, index) => index % 2 === 0)
  expect(readRecords(step.value as Uint8Array, 0, platform)).toEqual(kept)
  // Once it is decompressed, 170 kB are left, which take three steps.
  expect(costs.slice(1).filter(cost => cost > 1000).length).toBe(3)
})
