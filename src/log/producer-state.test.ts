import { beforeEach, describe, expect, it } from 'vitest'
import { errorOf } from '../../test/support/log.ts'
import { buildBatch } from '../records/batch-builder.ts'
import { type BatchHeader, readBatchHeader } from '../records/batch-header.ts'
import type { EndTransactionMarker } from '../records/control.ts'
import { ProducerStates } from './producer-state.ts'

const PID = 9
const CLIENT = { origin: 'client', transactionVersion: 0 } as const
const COORDINATOR = { origin: 'coordinator', transactionVersion: 0 } as const
const MAX = 0x7fffffff

let states: ProducerStates
let nextOffset: number
beforeEach(() => {
  states = new ProducerStates()
  nextOffset = 0
})

interface Batch {
  sequence?: number
  count?: number
  epoch?: number
  pid?: number
  offset?: number
  timestamp?: number
  transactional?: boolean
  control?: boolean
}

function header(batch: Batch): BatchHeader {
  const { sequence = -1, count = 1, epoch = 0, pid = PID, timestamp = 1000 } = batch
  return readBatchHeader(
    buildBatch({
      records: Array.from({ length: count }, () => ({ timestamp })),
      baseOffset: batch.offset ?? nextOffset,
      producerId: pid,
      producerEpoch: epoch,
      baseSequence: sequence,
      isTransactional: batch.transactional,
      isControl: batch.control,
    }),
  )
}

/** Checks and, if it is accepted, applies a batch as a client's. */
function send(batch: Batch, rules: { origin: 'client' | 'coordinator'; transactionVersion: number } = CLIENT): string {
  const read = header(batch)
  const error = errorOf(() => states.checkData(read, rules))
  if (error === 'NONE') {
    states.applyData(read)
    nextOffset = read.lastOffset + 1
  }
  return error
}

function mark(type: 'COMMIT' | 'ABORT', batch: Batch & { coordinatorEpoch?: number } = {}, transactionVersion = 0) {
  const read = header({ transactional: true, control: true, ...batch })
  const marker: EndTransactionMarker = { type, coordinatorEpoch: batch.coordinatorEpoch ?? 0 }
  const error = errorOf(() => states.checkMarker(read, marker, { ...COORDINATOR, transactionVersion }))
  if (error !== 'NONE') return error
  nextOffset = read.lastOffset + 1
  const completed = states.applyMarker(read, marker)
  if (completed) states.transactions.complete(completed)
  return completed
}

describe('sequences', () => {
  it('lets an unknown producer begin anywhere', () => {
    expect(send({ sequence: 17 })).toBe('NONE')
    expect(send({ sequence: 18 })).toBe('NONE')
  })

  it('demands 0 of an unknown producer that follows transaction version 2', () => {
    const rules = { origin: 'client', transactionVersion: 2 } as const
    expect(send({ sequence: 1, transactional: true }, rules)).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(send({ sequence: 0, transactional: true }, rules)).toBe('NONE')
    expect(send({ sequence: 1, transactional: true }, rules)).toBe('NONE')
  })

  it('refuses gaps and steps back, and changes nothing then', () => {
    send({ sequence: 0, count: 3 })
    for (const sequence of [0, 1, 2, 4, 100]) expect(send({ sequence })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(send({ sequence: 3 })).toBe('NONE')
  })

  it('goes on at 0 behind 2147483647, between batches and inside one', () => {
    expect(send({ sequence: MAX - 1, count: 2 })).toBe('NONE')
    expect(send({ sequence: 0 })).toBe('NONE')
    expect(send({ sequence: MAX, count: 3, pid: 2 })).toBe('NONE')
    expect(states.get(2)?.batches).toMatchObject([{ firstSequence: MAX, lastSequence: 1 }])
    expect(send({ sequence: 2, pid: 2 })).toBe('NONE')
  })

  it('goes on nowhere else behind 2147483647', () => {
    send({ sequence: MAX })
    for (const sequence of [1, 5, MAX]) expect(send({ sequence })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(send({ sequence: 0 })).toBe('NONE')
  })

  it('keeps producers apart', () => {
    send({ sequence: 0, pid: 1 })
    expect(send({ sequence: 0, pid: 2 })).toBe('NONE')
    expect(send({ sequence: 1, pid: 1 })).toBe('NONE')
    expect(states.size).toBe(2)
  })

  it('does not look at sequences of coordinators', () => {
    send({ sequence: 5 })
    expect(send({ sequence: -1 }, COORDINATOR)).toBe('NONE')
  })
})

describe('duplicates', () => {
  it('finds each of the last five, with the offsets that it got', () => {
    for (let index = 0; index < 6; index++) send({ sequence: index * 2, count: 2 })
    expect(states.duplicateOf(header({ sequence: 0, count: 2 }))).toBeUndefined()
    for (let index = 1; index < 6; index++) {
      expect(states.duplicateOf(header({ sequence: index * 2, count: 2 }))).toMatchObject({
        firstOffset: index * 2,
        lastOffset: index * 2 + 1,
      })
    }
  })

  it('demands the same first and last sequence and the same epoch', () => {
    send({ sequence: 0, count: 4 })
    expect(states.duplicateOf(header({ sequence: 0, count: 3 }))).toBeUndefined()
    expect(states.duplicateOf(header({ sequence: 1, count: 3 }))).toBeUndefined()
    expect(states.duplicateOf(header({ sequence: 0, count: 4, epoch: 1 }))).toBeUndefined()
    expect(states.duplicateOf(header({ sequence: 0, count: 4, pid: 3 }))).toBeUndefined()
    expect(states.duplicateOf(header({ sequence: 0, count: 4 }))).toBeDefined()
  })
})

describe('epochs', () => {
  it('begins a higher one at 0 and forgets the batches of the older', () => {
    send({ sequence: 0 })
    expect(send({ sequence: 1, epoch: 1 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(send({ sequence: 0, epoch: 1 })).toBe('NONE')
    expect(states.get(PID)?.batches).toHaveLength(1)
    expect(states.duplicateOf(header({ sequence: 0 }))).toBeUndefined()
  })

  it('refuses an older one, whoever comes, but not from a leader', () => {
    send({ sequence: 0, epoch: 3 })
    expect(send({ sequence: 0, epoch: 2 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(send({ sequence: 1, epoch: 2 }, COORDINATOR)).toBe('INVALID_PRODUCER_EPOCH')
    expect(
      errorOf(() => states.checkData(header({ epoch: 2 }), { origin: 'replication', transactionVersion: 0 })),
    ).toBe('NONE')
  })

  it('takes a producer without an epoch for unknown', () => {
    send({ sequence: 4, epoch: -1 })
    expect(send({ sequence: 9, epoch: -1 })).toBe('NONE')
  })
})

describe('transactions', () => {
  const unstable = () => states.transactions.firstUnstableOffset

  it('opens with the first transactional batch, and stands there until the marker is replicated', () => {
    send({ sequence: 0, count: 2, pid: 1 })
    send({ sequence: 0, transactional: true })
    send({ sequence: 1, transactional: true })
    expect(unstable()).toBe(2)
    expect(mark('COMMIT')).toEqual({ producerId: PID, firstOffset: 2, lastOffset: 4, isAborted: false })
    expect(unstable()).toBe(2)
    states.transactions.replicatedUpTo(4)
    expect(unstable()).toBe(2)
    states.transactions.replicatedUpTo(5)
    expect(unstable()).toBeUndefined()
    expect(states.transactions.isEmpty).toBe(true)
  })

  it('stands at the oldest of several', () => {
    send({ sequence: 0, transactional: true, pid: 1 })
    send({ sequence: 0, transactional: true, pid: 2 })
    send({ sequence: 0, transactional: true, pid: 3 })
    mark('ABORT', { pid: 1 })
    states.transactions.replicatedUpTo(nextOffset)
    expect(unstable()).toBe(1)
    mark('COMMIT', { pid: 3 })
    states.transactions.replicatedUpTo(nextOffset)
    expect(unstable()).toBe(1)
    mark('COMMIT', { pid: 2 })
    states.transactions.replicatedUpTo(nextOffset)
    expect(unstable()).toBeUndefined()
  })

  it('stands at the oldest also when all have their markers', () => {
    send({ sequence: 0, transactional: true, pid: 1 })
    send({ sequence: 0, transactional: true, pid: 2 })
    mark('COMMIT', { pid: 1 })
    mark('COMMIT', { pid: 2 })
    expect([unstable(), states.transactions.isEmpty]).toEqual([0, false])
    states.clear()
    expect([unstable(), states.transactions.isEmpty, states.size]).toEqual([undefined, true, 0])
  })

  it('says what the last stable offset becomes', () => {
    send({ sequence: 0, transactional: true, pid: 1 })
    send({ sequence: 0, transactional: true, pid: 2 })
    const completed = { producerId: 1, firstOffset: 0, lastOffset: 7, isAborted: true }
    expect(states.transactions.lastStableOffsetAfter(completed)).toBe(1)
    states.transactions.complete({ ...completed, producerId: 2, firstOffset: 1 })
    expect(states.transactions.lastStableOffsetAfter(completed)).toBe(8)
  })

  it('refuses other data of a producer whose transaction is open', () => {
    send({ sequence: 0, transactional: true })
    expect(send({ sequence: 1 })).toBe('INVALID_TXN_STATE')
    expect(send({ sequence: 1, transactional: true })).toBe('NONE')
  })

  it('gives nothing for a marker without data', () => {
    expect(mark('COMMIT')).toBeUndefined()
    expect(states.get(PID)).toMatchObject({ producerEpoch: 0, coordinatorEpoch: 0, batches: [] })
  })

  it('fences markers of an older producer epoch or coordinator', () => {
    send({ sequence: 0, epoch: 2, transactional: true })
    expect(mark('COMMIT', { epoch: 1 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(mark('COMMIT', { epoch: 2, coordinatorEpoch: 5 })).toBeTypeOf('object')
    expect(mark('COMMIT', { epoch: 2, coordinatorEpoch: 4 })).toBe('TRANSACTION_COORDINATOR_FENCED')
    expect(mark('COMMIT', { epoch: 2, coordinatorEpoch: 5 })).toBeUndefined()
  })

  it('takes every marker that a leader has taken', () => {
    send({ sequence: 0, epoch: 2, transactional: true })
    const marker: EndTransactionMarker = { type: 'COMMIT', coordinatorEpoch: 0 }
    const older = header({ epoch: 1, transactional: true, control: true })
    expect(errorOf(() => states.checkMarker(older, marker, { origin: 'replication', transactionVersion: 0 }))).toBe(
      'NONE',
    )
  })

  it('demands a raised epoch of markers of version 2, unless they are sent again', () => {
    send({ sequence: 0, epoch: 2, transactional: true })
    expect(mark('COMMIT', { epoch: 2 }, 2)).toBe('INVALID_PRODUCER_EPOCH')
    expect(mark('COMMIT', { epoch: 3 }, 2)).toMatchObject({ firstOffset: 0, lastOffset: 1 })
    expect(mark('COMMIT', { epoch: 3 }, 2)).toBeUndefined()
    expect(send({ sequence: 1, epoch: 3, transactional: true })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(send({ sequence: 0, epoch: 3, transactional: true })).toBe('NONE')
  })
})

describe('memory', () => {
  it('forgets producers that are silent for long, but none with an open transaction', () => {
    send({ sequence: 0, pid: 1, timestamp: 1000 })
    send({ sequence: 0, pid: 2, timestamp: 2000 })
    send({ sequence: 0, pid: 3, timestamp: 1000, transactional: true })
    expect(states.expire(1499, 500)).toBe(0)
    expect(states.expire(1500, 500)).toBe(1)
    expect([...states.all()].map(entry => entry.producerId)).toEqual([2, 3])
    expect(send({ sequence: 40, pid: 1 })).toBe('NONE')
  })

  it('forgets none whose transaction opened with the first record of the log', () => {
    send({ sequence: 0, transactional: true, timestamp: 1000 })
    expect(states.expire(5000, 500)).toBe(0)
    expect(states.size).toBe(1)
  })
})
