import { describe, expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

describe('parseDuration', () => {
  it.each([
    [250, 250],
    [0, 0],
    ['250ms', 250],
    ['1.5s', 1500],
    ['2m', 120_000],
    ['1h30m', 5_400_000],
    ['1 d 12 h', 129_600_000],
    ['7d', 604_800_000],
    ['1w', 604_800_000],
  ])('reads %s as %d ms', (span, ms) => {
    expect(parseDuration(span)).toBe(ms)
  })

  it.each(['', '7', 'd', '7 days', '-1s', '1y', '1s and more', -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'takes %s for no span',
    span => {
      expect(parseDuration(span)).toBeUndefined()
    },
  )
})
