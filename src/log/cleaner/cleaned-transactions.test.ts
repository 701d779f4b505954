import { describe, expect, it } from 'vitest'
import type { BatchHeader } from '../../records/batch-header.ts'
import type { AbortedTransactionEntry } from '../transaction-index.ts'
import { CleanedTransactions } from './cleaned-transactions.ts'

const ABORT = { type: 'ABORT', coordinatorEpoch: 0 } as const
const COMMIT = { type: 'COMMIT', coordinatorEpoch: 0 } as const

function batch(producerId: number, lastOffset: number, more: Partial<BatchHeader> = {}): BatchHeader {
  return { producerId, lastOffset, isTransactional: true, recordsCount: 1, ...more } as BatchHeader
}

function aborted(producerId: number, firstOffset: number, lastOffset: number): AbortedTransactionEntry {
  return { producerId, firstOffset, lastOffset, lastStableOffset: 0 }
}

function following(entries: AbortedTransactionEntry[]) {
  const transactions = new CleanedTransactions(entries)
  const noted: AbortedTransactionEntry[] = []
  transactions.onAborted = entry => noted.push(entry)
  return { transactions, noted }
}

describe('the transactions that a cleaning meets', () => {
  it('aborted data can go, its marker stays while it was there, and readers have to know', () => {
    const entry = aborted(1, 5, 9)
    const { transactions, noted } = following([entry])
    expect(transactions.onData(batch(1, 4))).toBe(false)
    expect(transactions.onControl(batch(1, 4), COMMIT)).toBe(false)
    expect(transactions.onData(batch(1, 6))).toBe(true)
    expect(transactions.onData(batch(2, 7))).toBe(false)
    expect(transactions.onData(batch(1, 8, { isTransactional: false }))).toBe(false)
    expect(transactions.onControl(batch(1, 9), ABORT)).toBe(false)
    expect(noted).toEqual([entry])
    expect(transactions.onData(batch(1, 10))).toBe(false)
    expect(transactions.onControl(batch(2, 11), COMMIT)).toBe(false)
  })

  it('a marker without data can go, and of its transaction nobody has to know', () => {
    const { transactions, noted } = following([aborted(1, 5, 9)])
    expect(transactions.onControl(batch(1, 9), ABORT)).toBe(true)
    expect(transactions.onControl(batch(1, 10), ABORT)).toBe(true)
    expect(transactions.onControl(batch(2, 11), COMMIT)).toBe(true)
    expect(transactions.onData(batch(2, 12))).toBe(false)
    expect(transactions.onControl(batch(2, 13), COMMIT)).toBe(false)
    expect(transactions.onControl(batch(2, 14), COMMIT)).toBe(true)
    expect(noted).toEqual([])
  })

  it('several of one producer follow each other, whatever the order they are told in', () => {
    const entries = [aborted(1, 20, 22), aborted(1, 0, 3), aborted(2, 1, 30)]
    const { transactions, noted } = following(entries)
    expect(transactions.onData(batch(1, 0))).toBe(true)
    expect(transactions.onData(batch(2, 1))).toBe(true)
    expect(transactions.onControl(batch(1, 3), ABORT)).toBe(false)
    expect(transactions.onData(batch(1, 10))).toBe(false)
    expect(transactions.onControl(batch(1, 11), COMMIT)).toBe(false)
    expect(transactions.onData(batch(1, 21))).toBe(true)
    expect(transactions.onControl(batch(1, 22), ABORT)).toBe(false)
    expect(transactions.onControl(batch(2, 30), ABORT)).toBe(false)
    expect(noted).toEqual([entries[1], entries[0], entries[2]])
  })

  it('a control batch that is no marker stays, unless it is empty', () => {
    const { transactions } = following([])
    expect(transactions.onControl(batch(-1, 0), undefined)).toBe(false)
    expect(transactions.onControl(batch(1, 0, { recordsCount: 0 }), undefined)).toBe(true)
  })
})
