import { describe, expect, it } from 'vitest'
import { AssertionError } from './assert.ts'
import { Later } from './later.ts'
import { Turns } from './turns.ts'

describe('Later', () => {
  it('tells its listeners in turns of their own, never inside settle', () => {
    const turns = new Turns()
    const later = new Later<number>(turns)
    const seen: string[] = []
    later.whenSettled(value => seen.push(`first ${value}`))
    later.whenSettled(value => seen.push(`second ${value}`))
    expect(later.settle(1)).toBe(true)
    expect(seen).toEqual([])
    turns.drain()
    expect(seen).toEqual(['first 1', 'second 1'])
  })

  it('settles once', () => {
    const turns = new Turns()
    const later = new Later<number>(turns)
    const seen: number[] = []
    later.whenSettled(value => seen.push(value))
    later.settle(1)
    expect(later.settle(2)).toBe(false)
    expect(later.value).toBe(1)
    turns.drain()
    expect(seen).toEqual([1])
  })

  it('tells a late listener too, in a turn as well', () => {
    const turns = new Turns()
    const seen: number[] = []
    Later.of(turns, 3).whenSettled(value => seen.push(value))
    expect(seen).toEqual([])
    turns.drain()
    expect(seen).toEqual([3])
  })

  it('may settle with undefined', () => {
    const turns = new Turns()
    const later = new Later<undefined>(turns)
    expect(later.settled).toBe(false)
    later.settle(undefined)
    expect(later.settled).toBe(true)
    expect(later.value).toBeUndefined()
  })

  it('has no value before', () => {
    expect(() => new Later<number>(new Turns()).value).toThrow(AssertionError)
  })

  it('maps', () => {
    const turns = new Turns()
    const later = new Later<number>(turns)
    const text = later.map(value => `${value}!`)
    later.settle(4)
    expect(text.settled).toBe(false)
    turns.drain()
    expect(text.value).toBe('4!')
  })
})
