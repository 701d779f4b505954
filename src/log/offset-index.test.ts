import { expect, it } from 'vitest'
import { OffsetIndex } from './offset-index.ts'
import { TimeIndex } from './time-index.ts'

it('leads from an offset to a position at or before it, and back', () => {
  const index = new OffsetIndex(1000)
  expect([index.positionFor(1005), index.floorPosition(5)]).toEqual([0, 0])
  index.append(1010, 400)
  index.append(1020, 900)
  expect([1009, 1010, 1019, 1020, 1099].map(offset => index.positionFor(offset))).toEqual([0, 400, 400, 900, 900])
  expect([399, 400, 899, 900, 5000].map(position => index.floorPosition(position))).toEqual([0, 400, 400, 900, 900])
  expect([index.offsetAt(1), index.positionAt(1)]).toEqual([1020, 900])
})

it("has the bytes of Kafka's file, from which it can be made again", () => {
  const index = new OffsetIndex(1000)
  for (let entry = 1; entry <= 20; entry++) index.append(1000 + entry, entry * 0x10000)
  const bytes = index.entries.from(0)
  expect([...bytes.subarray(0, 16)]).toEqual([0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 0, 2, 0, 0])
  const again = new OffsetIndex(1000, bytes)
  again.append(1030, 0x7f000000)
  expect([1007, 1030].map(offset => again.positionFor(offset))).toEqual([7 * 0x10000, 0x7f000000])
  expect(index.entries.count).toBe(20)
})

it('drops entries of batches that end at or behind an offset', () => {
  const index = new OffsetIndex(0)
  for (const offset of [10, 20, 30]) index.append(offset, offset * 10)
  for (const [offset, count] of [
    [31, 3],
    [30, 2],
    [20, 1],
    [5, 0],
    [-1, 0],
  ]) {
    index.truncateTo(offset)
    expect(index.entries.count).toBe(count)
  }
})

it('leads from a time to an offset before which nothing is as late', () => {
  const index = new TimeIndex(5)
  expect(index.offsetFor(5)).toBe(-1)
  index.append(100, 10)
  index.append(100, 15)
  index.append(90, 18)
  index.append(200, 20)
  expect([99, 100, 199, 200, 999].map(timestamp => index.offsetFor(timestamp))).toEqual([-1, 10, 10, 20, 20])
  expect(index.entries.count).toBe(2)
  expect([...index.entries.from(1)]).toEqual([0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 15])
  index.truncateTo(20)
  expect([index.entries.count, index.offsetFor(999)]).toEqual([1, 10])
})
