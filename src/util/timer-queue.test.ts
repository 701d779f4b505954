import { describe, expect, it } from 'vitest'
import { AssertionError } from './assert.ts'
import { Prng } from './prng.ts'
import { type Timer, TimerQueue } from './timer-queue.ts'

function takeAll(queue: TimerQueue, now: number): void {
  for (let run = queue.take(now); run !== undefined; run = queue.take(now)) run()
}

describe('TimerQueue', () => {
  it('gives timers in the order of their time, and then in the order in which they were set', () => {
    const queue = new TimerQueue()
    const seen: string[] = []
    queue.set(20, () => seen.push('20 first'))
    queue.set(10, () => seen.push('10'))
    queue.set(20, () => seen.push('20 second'))
    expect(queue.nextDue()).toBe(10)
    expect(queue.take(9)).toBeUndefined()
    takeAll(queue, 19)
    expect(seen).toEqual(['10'])
    takeAll(queue, 20)
    expect(seen).toEqual(['10', '20 first', '20 second'])
    expect(queue.nextDue()).toBeUndefined()
    expect(queue.size).toBe(0)
  })

  it('never gives a cancelled timer, and cancelling again or too late does nothing', () => {
    const queue = new TimerQueue()
    const timer = queue.set(1, () => {})
    const other = queue.set(2, () => {})
    timer.cancel()
    timer.cancel()
    expect(queue.size).toBe(1)
    expect(queue.nextDue()).toBe(2)
    expect(queue.take(5)).toBeTypeOf('function')
    other.cancel()
    expect(queue.size).toBe(0)
    queue.set(3, () => {})
    expect(queue.size).toBe(1)
  })

  it('refuses a time that is none', () => {
    expect(() => new TimerQueue().set(Number.NaN, () => {})).toThrow(AssertionError)
  })

  it('agrees with a sorted array over random histories, through many cancellations', () => {
    const random = new Prng(7)
    const below = (limit: number): number => Math.floor(random.next() * limit)
    for (let history = 0; history < 20; history++) {
      const queue = new TimerQueue()
      let expected: { due: number; id: number; timer: Timer }[] = []
      const seen: number[] = []
      let now = 0
      for (let step = 0; step < 1000; step++) {
        const choice = below(10)
        if (choice < 5) {
          const due = now + below(50)
          const timer = queue.set(due, () => seen.push(step))
          expected.push({ due, id: step, timer })
        } else if (choice < 9 && expected.length > 0) {
          const [gone] = expected.splice(below(expected.length), 1)
          gone.timer.cancel()
        } else {
          now += below(5)
          const due = expected.filter(entry => entry.due <= now).sort((a, b) => a.due - b.due || a.id - b.id)
          expected = expected.filter(entry => entry.due > now)
          seen.length = 0
          takeAll(queue, now)
          expect(seen).toEqual(due.map(entry => entry.id))
        }
        expect(queue.size).toBe(expected.length)
      }
    }
  })

  it('cancels many without slowing down or forgetting the others', () => {
    const queue = new TimerQueue()
    const seen: number[] = []
    queue.set(1000, () => seen.push(1000))
    for (let index = 0; index < 10_000; index++) queue.set(index % 100, () => seen.push(-1)).cancel()
    queue.set(500, () => seen.push(500))
    expect(queue.size).toBe(2)
    takeAll(queue, 2000)
    expect(seen).toEqual([500, 1000])
  })
})
