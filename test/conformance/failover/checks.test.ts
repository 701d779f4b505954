/** A check that cannot fail is worthless: each is shown what it has to find. */
import { describe, expect, it } from 'vitest'
import {
  checkBeginnings,
  checkCommitted,
  checkRead,
  checkResumed,
  checkStored,
  type Reading,
  withReturns,
} from './checks.ts'

const values = (...numbers: number[]) => numbers.map((number, offset) => ({ offset, value: `0:${number}` }))
const stored = (...numbers: number[]) => new Map([[0, values(...numbers)]])
const acknowledged = (...numbers: number[]) => values(...numbers).map(record => ({ partition: 0, ...record }))
const readings = (offsets: number[], assignment = 1): Reading[] =>
  offsets.map(offset => ({ member: 'a', assignment, partition: 0, offset, value: `0:${offset}` }))
const inB = (reading: Reading): Reading => ({ ...reading, member: 'b' })

describe('the checks of the failover run', () => {
  it('find nothing where nothing is wrong', () => {
    expect(checkStored(acknowledged(0, 1, 2), stored(0, 1, 2, 5))).toEqual([])
    expect(checkRead([...readings([0, 1]), ...readings([1, 2], 2)], stored(0, 1, 2))).toEqual([])
    expect(checkResumed([...readings([0, 1]), ...readings([1, 2], 2)], () => [1])).toEqual([])
    expect(checkCommitted([3, 5, 4, 9], [-1, -1, 3, 3, 4, 9])).toEqual([])
  })

  it('find what is lost, but for what the cluster names', () => {
    expect(checkStored(acknowledged(0, 1, 2), stored(0, 1))).toEqual(['lost: 0:2, acknowledged at 2'])
    expect(checkStored(acknowledged(0, 1, 2), stored(0), [{ partition: 0, from: 1, to: 3 }])).toEqual([])
    expect(checkStored(acknowledged(0, 1, 2), stored(0), [{ partition: 1, from: 1, to: 3 }])).toHaveLength(1)
    expect(checkStored(acknowledged(0, 1, 2), stored(0), [{ partition: 0, from: 2, to: 3 }])).toHaveLength(1)
  })

  it('find what is there twice, out of order, or elsewhere', () => {
    expect(checkStored([], stored(0, 1, 1))).toEqual(['doubled: 0:1 at 1 and 2'])
    expect(checkStored([], stored(0, 2, 1))).toEqual(['out of order: 0:1 at 2 after 2'])
    expect(checkStored([], new Map([[1, values(0)]]))).toEqual(['in the wrong partition: 0:0 in 1'])
    expect(checkStored([{ partition: 0, offset: 7, value: '0:0' }], stored(0))).toEqual([
      'elsewhere than acknowledged: 0:0 at 0, not 7',
    ])
    expect(checkStored([...acknowledged(0), ...acknowledged(0)], stored(0))).toEqual(['acknowledged twice: 0:0'])
  })

  it('find what was not read, or not in order', () => {
    expect(checkRead(readings([0, 2]), stored(0, 1, 2))).toEqual([
      'not in order: a went from 0@0 to 0@2',
      'never read: 0:1 at 0@1',
    ])
    expect(checkRead(readings([0, 1, 0]), stored(0, 1))).toEqual(['not in order: a went from 0@1 to 0@0'])
    expect(checkRead(readings([0, 1]), stored(0, 7))).toEqual(['read, and not stored so: 0:1 at 0@1'])
    expect(checkResumed(readings([4]), () => [3])).toEqual(['began where nobody committed: a at 0@4'])
  })

  describe('of a client that goes on from where it has been, too', () => {
    const all = stored(0, 1, 2, 3, 4)
    const check = (readings: Reading[], commits: number[] = []) => {
      const returning = withReturns(readings)
      return [...checkRead(returning, all), ...checkResumed(returning, () => commits)]
    }

    it('let it read a second time what it had asked the old leader and the new one for', () => {
      expect(check(readings([0, 1, 2, 3, 2, 3, 4]))).toEqual([])
      expect(check(readings([0, 1, 2, 3, 2, 3, 4, 3, 4]))).toEqual([])
    })

    it('let it go on after an assignment as it was, and forward to where it was before', () => {
      expect(check([...readings([0, 1, 2]), ...readings([3, 4], 2)])).toEqual([])
      // What it had asked for at 3 is answered only after it began at 1 again.
      expect(check([...readings([0, 1, 2]), ...readings([1, 3, 4], 2)], [1])).toEqual([])
    })

    it('let it go back to a commit, though it has not been there', () => {
      expect(check([...readings([0, 1]).map(inB), ...readings([2, 3, 4, 1, 2])], [2, 1])).toEqual([])
    })

    it('still find a beginning at a place that is neither committed nor its own', () => {
      expect(check([...readings([0, 1, 2, 3]), ...readings([3, 4]).map(inB)])).toEqual([
        'began where nobody committed: b at 0@3',
      ])
      expect(check([...readings([0, 1]), ...readings([2, 3, 4]).map(inB), ...readings([4], 2)], [2])).toEqual([
        'began where nobody committed: a at 0@4',
      ])
      expect(check([...readings([2, 3, 4, 1, 2]), ...readings([0]).map(inB)], [2])).toEqual([
        'began where nobody committed: a at 0@1',
      ])
    })

    it('still find that it was told another place than a commit', () => {
      const beginning = { member: 'a', partition: 0 }
      const told = (offset: number, was?: number) => checkBeginnings([{ ...beginning, offset, was }], () => [3, 5])
      expect([told(0), told(3), told(5, 7), told(7, 7)].flat()).toEqual([])
      // It has been there, on its way to 7.
      expect(told(4, 7)).toEqual(['told to begin where nobody committed: a at 0@4, was at 7'])
      expect(told(7)).toEqual(['told to begin where nobody committed: a at 0@7, was at none'])
    })

    it('still find a gap, and what was not read', () => {
      expect(check(readings([0, 2, 1]))).toEqual([
        'not in order: a went from 0@0 to 0@2',
        'never read: 0:3 at 0@3, 0:4 at 0@4',
      ])
      // It has been at 2, and not at 4.
      expect(check(readings([0, 1, 2, 4]))).toEqual(['not in order: a went from 0@2 to 0@4', 'never read: 0:3 at 0@3'])
    })
  })

  it('find a commit that went back', () => {
    expect(checkCommitted([3, 5], [5, 3])).toHaveLength(1)
    expect(checkCommitted([3, 5], [3, -1])).toHaveLength(1)
    expect(checkCommitted([3], [4])).toHaveLength(1)
  })
})
