import { expect, it } from 'vitest'
import { coordinatorPartition, javaAbs, javaMapOrder, javaStringHash } from './java-hash.ts'

it.each([
  ['', 0],
  ['a', 97],
  ['hello', 99162322],
  ['Aa', 2112],
  ['BB', 2112],
  ['polygenelubricants', -2147483648],
])('hashes %j as Java does', (text, hash) => {
  expect(javaStringHash(text)).toBe(hash)
})

it('has no absolute value for the smallest int', () => {
  expect([5, -5, 0, -2147483647, -2147483648].map(javaAbs)).toEqual([5, 5, 0, 2147483647, 0])
})

it('finds the partition of a group', () => {
  expect(coordinatorPartition('hello', 50)).toBe(99162322 % 50)
  expect(coordinatorPartition('polygenelubricants', 50)).toBe(0)
})

// Seen on Kafka's choice between protocols that have the same votes, and by hand: a one-letter string hashes to its code.
it('lists keys as a java.util.HashMap does', () => {
  expect(javaMapOrder(['range', 'sticky'])).toEqual(['sticky', 'range'])
  expect(javaMapOrder(['sticky', 'range'])).toEqual(['sticky', 'range'])
  expect(javaMapOrder(['b', 'o', 'a', 'p'])).toEqual(['p', 'a', 'b', 'o'])
  expect(javaMapOrder(['q', 'a'])).toEqual(['q', 'a'])
  expect(javaMapOrder(['a', 'q'])).toEqual(['a', 'q'])
})

it('spreads more keys over more buckets', () => {
  const letters = [...'abcdefghijklmnopq']
  // 17 keys are more than three quarters of 16 buckets, so that 'a' (97) and 'q' (113) no longer share one of 32.
  expect(javaMapOrder(letters)).toEqual(letters.toSorted((x, y) => (x.charCodeAt(0) & 31) - (y.charCodeAt(0) & 31)))
})
