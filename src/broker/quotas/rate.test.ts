import { describe, expect, it } from 'vitest'
import { Rate, throttleTimeMs } from './rate.ts'

describe('a rate', () => {
  it('of which little is known is spread over ten seconds', () => {
    const rate = new Rate()
    rate.record(8000, 0)
    expect(rate.measure(0)).toEqual({ perSecond: 800, windowMs: 10_000 })
    rate.record(8000, 25)
    expect(rate.measure(25)).toEqual({ perSecond: (16_000 / 10_025) * 1000, windowMs: 10_025 })
  })

  it('of which more is known is taken over the time since the oldest window began', () => {
    const rate = new Rate()
    for (let second = 0; second <= 10; second++) rate.record(100, second * 1000)
    expect(rate.measure(10_500)).toEqual({ perSecond: (1100 / 10_500) * 1000, windowMs: 10_500 })
  })

  it('forgets windows in which nothing happened for eleven seconds', () => {
    const rate = new Rate()
    rate.record(5000, 0)
    rate.record(5000, 999)
    rate.record(70, 5000)
    expect(rate.measure(11_998).perSecond).toBeGreaterThan(800)
    expect(rate.measure(11_999)).toEqual({ perSecond: (70 / 10_999) * 1000, windowMs: 10_999 })
    expect(rate.isIdle(15_999)).toBe(false)
    expect(rate.isIdle(16_000)).toBe(true)
    expect(rate.measure(16_000)).toEqual({ perSecond: 0, windowMs: 10_000 })
  })

  it('takes back what was counted', () => {
    const rate = new Rate()
    rate.record(5000, 0)
    rate.record(-5000, 10)
    expect(rate.measure(20).perSecond).toBe(0)
  })
})

describe('a throttle time', () => {
  it('is nothing up to the limit, and beyond it what brings the rate back', () => {
    const rate = new Rate()
    rate.record(10_000, 0)
    expect(throttleTimeMs(rate, 1000, 0)).toBe(0)
    rate.record(1, 0)
    expect(throttleTimeMs(rate, 1000, 0)).toBe(1)
    rate.record(4_999, 0)
    expect(throttleTimeMs(rate, 1000, 0)).toBe(5000)
    expect(throttleTimeMs(rate, 1000, 5000)).toBe(5000)
    expect(throttleTimeMs(rate, 1000, 10_900)).toBe(4100)
    expect(throttleTimeMs(rate, 1000, 11_000)).toBe(0)
  })
})
