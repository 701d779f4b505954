import { describe, expect, it } from 'vitest'
import { formatNumbers, renderTable, wrap } from './table.ts'

describe('renderTable', () => {
  it('pads each column to its widest cell, and no line at its end', () => {
    expect(renderTable([['a', 'bb', 'c'], ['ddd', '', ''], ['e']])).toEqual(['a    bb  c', 'ddd', 'e'])
  })
})

describe('wrap', () => {
  it('breaks between words, and leaves a long word whole', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('extraordinary it is', 5)).toEqual(['extraordinary', 'it is'])
  })
})

describe('formatNumbers', () => {
  it.each([
    [[], '-'],
    [[4], '4'],
    [[4, 5], '4 5'],
    [[4, 5, 6], '4-6'],
    [[0, 2, 3, 4, 5, 9, 10], '0 2-5 9 10'],
  ])('%j is %s', (numbers, text) => {
    expect(formatNumbers(numbers)).toBe(text)
  })
})
