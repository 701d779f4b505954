import { describe, expect, it } from 'vitest'
import { MemoryStorage } from '../storage/memory-storage.ts'
import type { StorageFailure } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
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

  it('is at least what is there for sure, whatever becomes of what is being written', () => {
    const env = new VirtualEnv()
    const storage = new MemoryStorage({ turns: env.turns })
    const offsets = new PartitionOffsets(storage, 'offsets', env)
    const write = (offset: number) => offsets.write(() => new Map([['a-0', offset]]))
    write(10)
    expect(offsets.atLeast('a-0')).toBe(0)
    env.turns.drain()
    expect(offsets.atLeast('a-0')).toBe(10)
    write(20)
    write(30)
    expect(offsets.atLeast('a-0')).toBe(10)
    env.turns.drain()
    expect([offsets.atLeast('a-0'), offsets.atLeast('a-1')]).toEqual([30, 0])
    // Nobody knows what is there after a write that failed, nor after the next one.
    const { replace } = storage
    storage.replace = () => Later.of<StorageFailure | undefined>(env.turns, { code: 'IO', message: 'EIO' })
    for (const offset of [40, 50]) {
      write(offset)
      env.turns.drain()
      expect(offsets.atLeast('a-0')).toBe(30)
    }
    storage.replace = replace
    write(5)
    expect(offsets.atLeast('a-0')).toBe(5)
    env.turns.drain()
    expect([offsets.atLeast('a-0'), offsets.isAtMost('a-0', 5)]).toEqual([5, true])
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
