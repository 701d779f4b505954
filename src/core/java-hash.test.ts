import { expect, it } from 'vitest'
import { javaMapOrder } from './java-hash.ts'

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
