import { describe, expect, it } from 'vitest'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { PartitionOffsets } from './partition-offsets.ts'

describe('what a file of offsets says', () => {
  it('is what was written last, and until that is written also what was there before', () => {
    const env = new VirtualEnv()
    const offsets = new PartitionOffsets(new MemoryStorage({ turns: env.turns }), 'offsets', env)
    const write = (content: Record<string, number>) => offsets.write(() => new Map(Object.entries(content)))
    write({ 'a-0': 10 })
    env.turns.drain()
    expect([offsets.isAtMost('a-0', 9), offsets.isAtMost('a-0', 10)]).toEqual([false, true])
    write({ 'a-0': 5 })
    expect(offsets.isAtMost('a-0', 5)).toBe(false)
    env.turns.drain()
    expect(offsets.isAtMost('a-0', 5)).toBe(true)
  })

  it('does not depend on what is being written for another partition', () => {
    const env = new VirtualEnv()
    const offsets = new PartitionOffsets(new MemoryStorage({ turns: env.turns }), 'offsets', env)
    const write = (content: Record<string, number>) => offsets.write(() => new Map(Object.entries(content)))
    write({ 'a-0': 5, 'a-1': 10 })
    env.turns.drain()
    write({ 'a-0': 5, 'a-1': 7 })
    expect(offsets.writing).toBeDefined()
    expect([offsets.isAtMost('a-0', 5), offsets.isAtMost('a-1', 7)]).toEqual([true, false])
    // A write that waits for its turn says nothing yet.
    write({ 'a-0': 6, 'a-1': 7 })
    expect(offsets.isAtMost('a-0', 5)).toBe(true)
    env.turns.drain()
    expect([offsets.isAtMost('a-0', 5), offsets.isAtMost('a-1', 7)]).toEqual([false, true])
  })
})
