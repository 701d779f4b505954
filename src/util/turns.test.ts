import { describe, expect, it } from 'vitest'
import { Turns } from './turns.ts'

describe('Turns', () => {
  it('runs what is queued in order, and what is queued meanwhile behind it', () => {
    const turns = new Turns()
    const seen: string[] = []
    turns.enqueue(() => {
      seen.push('a')
      turns.enqueue(() => seen.push('c'))
    })
    turns.enqueue(() => seen.push('b'))
    expect(seen).toEqual([])
    turns.drain()
    expect(seen).toEqual(['a', 'b', 'c'])
    expect(turns.idle).toBe(true)
  })

  it('does not re-enter: a drain inside a turn does nothing', () => {
    const turns = new Turns()
    const seen: string[] = []
    turns.enqueue(() => {
      turns.enqueue(() => seen.push('inner'))
      turns.drain()
      seen.push('outer')
    })
    turns.drain()
    expect(seen).toEqual(['outer', 'inner'])
  })

  it('does not grow the stack, however long the chain', () => {
    const turns = new Turns()
    let left = 200_000
    const next = (): void => {
      if (--left > 0) turns.enqueue(next)
    }
    turns.enqueue(next)
    turns.drain()
    expect(left).toBe(0)
  })

  it('keeps the order past the places where it cuts the queue', () => {
    const turns = new Turns()
    const seen: number[] = []
    for (let index = 0; index < 5000; index++) {
      turns.enqueue(() => {
        seen.push(index)
        if (index % 7 === 0) turns.enqueue(() => seen.push(5000 + index / 7))
      })
    }
    turns.drain()
    expect(seen).toEqual(Array.from({ length: 5000 + 715 }, (_, index) => index))
  })

  it('tells its handler of errors and goes on', () => {
    const errors: unknown[] = []
    const turns = new Turns(error => errors.push(error))
    const seen: string[] = []
    turns.enqueue(() => {
      throw new Error('broken')
    })
    turns.enqueue(() => seen.push('after'))
    turns.drain()
    expect(errors).toEqual([new Error('broken')])
    expect(seen).toEqual(['after'])
  })

  it('without a handler lets the error out, runs nothing twice and loses nothing', () => {
    const turns = new Turns()
    const seen: string[] = []
    turns.enqueue(() => seen.push('before'))
    turns.enqueue(() => {
      throw new Error('broken')
    })
    turns.enqueue(() => seen.push('after'))
    expect(() => turns.drain()).toThrow('broken')
    expect(turns.idle).toBe(false)
    turns.drain()
    expect(seen).toEqual(['before', 'after'])
  })
})
