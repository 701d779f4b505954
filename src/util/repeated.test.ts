import { expect, it } from 'vitest'
import { repeated } from './repeated.ts'

it('finds what stands there more than once', () => {
  expect([...repeated(['a', 'b', 'a', 'c', 'b', 'a'])]).toEqual(['a', 'b'])
  expect(repeated([1, 2, 3]).size).toBe(0)
})
