import { describe, expect, it } from 'vitest'
import { AssertionError } from './assert.ts'
import { VirtualEnv } from './virtual-env.ts'

describe('VirtualEnv', () => {
  it('moves its clock only when told, and fires each timer at its own time', () => {
    const env = new VirtualEnv({ now: 1000 })
    const seen: [string, number][] = []
    env.timer(30, () => seen.push(['c', env.now()]))
    env.timer(10, () => {
      seen.push(['a', env.now()])
      env.timer(5, () => seen.push(['b', env.now()]))
    })
    env.timer(50, () => seen.push(['d', env.now()]))
    expect(env.nextDue).toBe(1010)
    env.advance(30)
    expect(seen).toEqual([
      ['a', 1010],
      ['b', 1015],
      ['c', 1030],
    ])
    expect(env.now()).toBe(1030)
    expect(env.timers).toBe(1)
  })

  it('drains after each timer, before the next', () => {
    const env = new VirtualEnv()
    const seen: string[] = []
    env.timer(1, () => {
      seen.push('first')
      env.turns.enqueue(() => seen.push('turn of the first'))
    })
    env.timer(1, () => seen.push('second'))
    env.turns.enqueue(() => seen.push('before'))
    env.advance(1)
    expect(seen).toEqual(['before', 'first', 'turn of the first', 'second'])
  })

  it('steps from one timer to the next, also when both are due at once', () => {
    const env = new VirtualEnv({ now: 1000 })
    const seen: string[] = []
    env.timer(5, () => seen.push('first'))
    env.timer(5, () => env.turns.enqueue(() => seen.push('second')))
    expect([env.step(), env.now(), seen]).toEqual([true, 1005, ['first']])
    expect([env.step(), env.now(), seen]).toEqual([true, 1005, ['first', 'second']])
    expect([env.step(), env.now()]).toEqual([false, 1005])
  })

  it('settles without moving the clock', () => {
    const env = new VirtualEnv({ now: 5 })
    let ran = false
    env.turns.enqueue(() => {
      ran = true
    })
    env.settle()
    expect(ran).toBe(true)
    expect(env.now()).toBe(5)
  })

  it('never goes back, not even when a timer moves the clock itself', () => {
    const env = new VirtualEnv({ now: 0 })
    env.timer(1, () => env.advance(100))
    env.advance(10)
    expect(env.now()).toBe(101)
    expect(() => env.advance(-1)).toThrow(AssertionError)
  })

  it('takes a delay below zero for none', () => {
    const env = new VirtualEnv({ now: 10 })
    let firedAt = 0
    env.timer(-5, () => {
      firedAt = env.now()
    })
    env.advance(0)
    expect(firedAt).toBe(10)
  })

  it('gives the same chances for the same seed, and keeps log lines', () => {
    const draw = (seed: number): number[] => {
      const env = new VirtualEnv({ seed })
      return [env.random(), env.random(), env.random()]
    }
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1)).not.toEqual(draw(2))
    const env = new VirtualEnv()
    env.log('warn', 'something', { id: 1 })
    expect(env.lines).toEqual([{ level: 'warn', message: 'something', fields: { id: 1 } }])
  })
})
