import { expect, it } from 'vitest'
import { floorIndex, OffsetIndex } from './offset-index.ts'
import { TimeIndex } from './time-index.ts'

it('finds the last value that is not larger', () => {
  const values = [2, 4, 4, 9]
  expect([1, 2, 3, 4, 5, 9, 10].map(value => floorIndex(values, value))).toEqual([-1, 0, 0, 2, 2, 3, 3])
  expect(floorIndex([], 1)).toBe(-1)
})

it('leads from an offset to a position at or before it, and back', () => {
  const index = new OffsetIndex()
  expect([index.positionFor(5), index.floorPosition(5)]).toEqual([0, 0])
  index.append(10, 400)
  index.append(20, 900)
  expect([9, 10, 19, 20, 99].map(offset => index.positionFor(offset))).toEqual([0, 400, 400, 900, 900])
  expect([399, 400, 899, 900, 5000].map(position => index.floorPosition(position))).toEqual([0, 400, 400, 900, 900])
  index.clear()
  expect([index.entries, index.positionFor(20)]).toEqual([0, 0])
})

it('leads from a time to an offset before which nothing is as late', () => {
  const index = new TimeIndex()
  expect(index.offsetFor(5)).toBe(-1)
  index.append(100, 10)
  index.append(100, 15)
  index.append(90, 18)
  index.append(200, 20)
  expect([99, 100, 199, 200, 999].map(timestamp => index.offsetFor(timestamp))).toEqual([-1, 10, 10, 20, 20])
  expect(index.entries).toBe(2)
  index.clear()
  expect(index.entries).toBe(0)
})
