import { describe, expect, it } from 'vitest'
import { LeaderEpochs } from './leader-epochs.ts'

function epochs(...pairs: [epoch: number, startOffset: number][]): LeaderEpochs {
  const cache = new LeaderEpochs()
  for (const [epoch, startOffset] of pairs) cache.assign(epoch, startOffset)
  return cache
}
const entries = (cache: LeaderEpochs) => cache.entries.map(({ epoch, startOffset }) => [epoch, startOffset])

describe('LeaderEpochs', () => {
  it('knows nothing at first', () => {
    const cache = epochs()
    expect(entries(cache)).toEqual([])
    expect(cache.latestEpoch).toBe(-1)
    expect(cache.endOffsetFor(-1, 10)).toEqual({ leaderEpoch: -1, endOffset: -1 })
    expect(cache.endOffsetFor(0, 10)).toEqual({ leaderEpoch: -1, endOffset: -1 })
    expect(cache.epochFor(0)).toBeUndefined()
  })

  it('notes an epoch once, where it began', () => {
    const cache = epochs([0, 0])
    expect(cache.assign(0, 0)).toBe(false)
    expect(cache.assign(0, 5)).toBe(false)
    expect(cache.assign(2, 5)).toBe(true)
    expect(entries(cache)).toEqual([
      [0, 0],
      [2, 5],
    ])
    expect(cache.latestEpoch).toBe(2)
  })

  it('takes an earlier begin of the latest epoch over', () => {
    expect(entries(epochs([0, 0], [1, 10], [1, 5]))).toEqual([
      [0, 0],
      [1, 5],
    ])
  })

  it('lets entries go that contradict a new one', () => {
    expect(entries(epochs([0, 0], [1, 10], [2, 20], [3, 15]))).toEqual([
      [0, 0],
      [1, 10],
      [3, 15],
    ])
    expect(entries(epochs([0, 0], [5, 10], [3, 20]))).toEqual([
      [0, 0],
      [3, 20],
    ])
    expect(entries(epochs([0, 0], [1, 10], [2, 10]))).toEqual([
      [0, 0],
      [2, 10],
    ])
  })

  it('answers where an epoch ended, as d8 says', () => {
    const cache = epochs([2, 10], [4, 20], [7, 30])
    const ask = (epoch: number) => {
      const { leaderEpoch, endOffset } = cache.endOffsetFor(epoch, 42)
      return [leaderEpoch, endOffset]
    }
    expect(ask(7)).toEqual([7, 42])
    expect(ask(4)).toEqual([4, 30])
    expect(ask(5)).toEqual([4, 30])
    expect(ask(2)).toEqual([2, 20])
    expect(ask(1)).toEqual([1, 10])
    expect(ask(8)).toEqual([-1, -1])
    expect(ask(-1)).toEqual([-1, -1])
  })

  it('answers for the first epoch of all as for any other', () => {
    expect(epochs([0, 0]).endOffsetFor(0, 7)).toEqual({ leaderEpoch: 0, endOffset: 7 })
  })

  it('says which epoch wrote an offset', () => {
    const cache = epochs([2, 10], [4, 20])
    expect([9, 10, 19, 20, 99].map(offset => cache.epochFor(offset))).toEqual([undefined, 2, 2, 4, 4])
  })

  it('forgets what was cut off at the end', () => {
    const cache = epochs([2, 10], [4, 20], [5, 30])
    expect(cache.truncateFromEnd(31)).toBe(false)
    expect(cache.truncateFromEnd(20)).toBe(true)
    expect(entries(cache)).toEqual([[2, 10]])
  })

  it('moves the first epoch up to where the log starts', () => {
    const cache = epochs([2, 10], [4, 20], [5, 30])
    expect(cache.truncateFromStart(10)).toBe(false)
    expect(cache.truncateFromStart(5)).toBe(false)
    expect(cache.truncateFromStart(25)).toBe(true)
    expect(entries(cache)).toEqual([
      [4, 25],
      [5, 30],
    ])
    expect(cache.truncateFromStart(40)).toBe(true)
    expect(entries(cache)).toEqual([[5, 40]])
    expect(cache.truncateFromStart(40)).toBe(false)
  })

  it('keeps an epoch that begins where the log starts', () => {
    const cache = epochs([2, 10], [4, 20], [5, 30])
    expect(cache.truncateFromStart(20)).toBe(true)
    expect(entries(cache)).toEqual([
      [4, 20],
      [5, 30],
    ])
    cache.clear()
    expect(entries(cache)).toEqual([])
  })
})
