import { beforeEach, describe, expect, it } from 'vitest'
import { AbortedTransactions } from './aborted-transactions.ts'

let aborted: AbortedTransactions
beforeEach(() => {
  aborted = new AbortedTransactions()
  aborted.append({ producerId: 2, firstOffset: 5, lastOffset: 8, lastStableOffset: 3 })
  aborted.append({ producerId: 1, firstOffset: 3, lastOffset: 12, lastStableOffset: 13 })
  aborted.append({ producerId: 3, firstOffset: 20, lastOffset: 21, lastStableOffset: 22 })
})
const found = (from: number, upTo: number) => aborted.collect(from, upTo).map(each => each.producerId)

describe('AbortedTransactions', () => {
  it('has none at first', () => {
    expect(new AbortedTransactions().entries).toEqual([])
  })

  it('finds those with data in a range, in the order of their first offsets', () => {
    expect(found(0, 30)).toEqual([1, 2, 3])
    expect(found(0, 5)).toEqual([1])
    expect(found(9, 20)).toEqual([1])
    expect(found(13, 20)).toEqual([])
    expect(found(21, 22)).toEqual([3])
    expect(found(8, 9)).toEqual([1, 2])
  })

  it('forgets markers that are cut off or deleted', () => {
    aborted.truncateFromEnd(21)
    expect(found(0, 30)).toEqual([1, 2])
    aborted.truncateFromStart(8)
    expect(found(0, 30)).toEqual([1, 2])
    aborted.truncateFromStart(9)
    expect(found(0, 30)).toEqual([1])
    aborted.clear()
    expect(aborted.entries).toEqual([])
  })
})
