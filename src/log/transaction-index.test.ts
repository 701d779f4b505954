import { beforeEach, describe, expect, it } from 'vitest'
import { type AbortedTransaction, TransactionIndex } from './transaction-index.ts'

let index: TransactionIndex
beforeEach(() => {
  index = new TransactionIndex()
  index.append({ producerId: 2, firstOffset: 5, lastOffset: 8, lastStableOffset: 3 })
  index.append({ producerId: 1, firstOffset: 3, lastOffset: 12, lastStableOffset: 13 })
  index.append({ producerId: 3, firstOffset: 20, lastOffset: 21, lastStableOffset: 22 })
})

function collect(from: number, upTo: number): [producers: number[], isComplete: boolean] {
  const found: AbortedTransaction[] = []
  const isComplete = index.collect(from, upTo, found)
  return [found.map(each => each.producerId), isComplete]
}

describe('TransactionIndex', () => {
  it('finds those with data in a range, and says when later ones have none', () => {
    expect(collect(0, 30)).toEqual([[2, 1, 3], false])
    expect(collect(0, 5)).toEqual([[1], true])
    expect(collect(9, 20)).toEqual([[1], true])
    expect(collect(13, 20)).toEqual([[], true])
    expect(collect(21, 22)).toEqual([[3], true])
    expect(collect(8, 9)).toEqual([[2, 1], true])
  })

  it('takes a transaction once, however often its marker is read', () => {
    index.append({ producerId: 3, firstOffset: 20, lastOffset: 21, lastStableOffset: 22 })
    index.append({ producerId: 1, firstOffset: 3, lastOffset: 12, lastStableOffset: 13 })
    expect(index.entries.count).toBe(3)
  })

  it('forgets markers that are cut off', () => {
    index.truncateTo(21)
    expect(collect(0, 30)[0]).toEqual([2, 1])
    index.truncateTo(12)
    expect(collect(0, 30)[0]).toEqual([2])
    index.truncateTo(0)
    expect(index.all()).toEqual([])
  })

  it("has the bytes of Kafka's file, from which it can be made again", () => {
    const bytes = index.entries.from(0)
    expect(bytes.length).toBe(3 * 34)
    expect([...bytes.subarray(34, 68)].filter(byte => byte !== 0)).toEqual([1, 3, 12, 13])
    const again = new TransactionIndex(bytes.slice())
    expect([again.all(), again.isSane]).toEqual([index.all(), true])
    const foreign = bytes.slice()
    foreign[35] = 1
    expect(new TransactionIndex(foreign).isSane).toBe(false)
  })
})
