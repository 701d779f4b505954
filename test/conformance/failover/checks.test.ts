/** A check that cannot fail is worthless: each is shown what it has to find. */
import { describe, expect, it } from 'vitest'
import { checkCommitted, checkRead, checkResumed, checkStored, type Reading, withLateAssignments } from './checks.ts'

const values = (...numbers: number[]) => numbers.map((number, offset) => ({ offset, value: `0:${number}` }))
const stored = (...numbers: number[]) => new Map([[0, values(...numbers)]])
const acknowledged = (...numbers: number[]) => values(...numbers).map(record => ({ partition: 0, ...record }))
const readings = (offsets: number[], assignment = 1): Reading[] =>
  offsets.map(offset => ({ member: 'a', assignment, partition: 0, offset, value: `0:${offset}` }))

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

  it('take a step back for a new beginning where a client is late, and a gap for a gap', () => {
    const late = withLateAssignments(readings([0, 1, 2, 1, 2]))
    expect(checkRead(late, stored(0, 1, 2))).toEqual([])
    expect(checkResumed(late, () => [1])).toEqual([])
    expect(checkResumed(late, () => [2])).toEqual(['began where nobody committed: a at 0@1'])
    expect(checkRead(withLateAssignments(readings([0, 2, 1])), stored(0, 1, 2))).toHaveLength(1)
  })

  it('find a commit that went back', () => {
    expect(checkCommitted([3, 5], [5, 3])).toHaveLength(1)
    expect(checkCommitted([3, 5], [3, -1])).toHaveLength(1)
    expect(checkCommitted([3], [4])).toHaveLength(1)
  })
})
