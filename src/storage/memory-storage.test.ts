import { describe, expect, it } from 'vitest'
import { AssertionError } from '../util/assert.ts'
import { Turns } from '../util/turns.ts'
import { MemoryMeter } from './memory-meter.ts'
import { MemoryStorage } from './memory-storage.ts'
import { storageContract } from './storage.contract.ts'

const KIB = 1024
const MIB = 1024 * KIB
const make = (maxBytes?: number) => new MemoryStorage({ turns: new Turns(), maxBytes })

storageContract('memory', () => {
  const turns = new Turns()
  return {
    storage: new MemoryStorage({ turns }),
    settled: async later => {
      turns.drain()
      return later.value
    },
  }
})

describe('MemoryStorage', () => {
  it('takes nothing for an empty file, and little for a small one', () => {
    const storage = make()
    const file = storage.open('f', { create: true })
    expect(storage.usedBytes).toBe(0)
    file.appendv([new Uint8Array(1)])
    expect(storage.usedBytes).toBe(4 * KIB)
    file.appendv([new Uint8Array(4 * KIB)])
    expect(storage.usedBytes).toBe(12 * KIB)
  })

  it('grows by no more than 1 MiB at a time', () => {
    const storage = make()
    const file = storage.open('f', { create: true })
    for (let index = 0; index < 100; index++) file.appendv([new Uint8Array(100 * KIB)])
    expect(storage.usedBytes - file.size).toBeGreaterThanOrEqual(0)
    expect(storage.usedBytes - file.size).toBeLessThanOrEqual(MIB)
  })

  it('refuses what goes over the ceiling, all of it, and goes on with what fits', () => {
    const storage = make(64 * KIB)
    const file = storage.open('f', { create: true })
    file.appendv([new Uint8Array(50 * KIB).fill(1)])
    const used = storage.usedBytes
    expect(() => file.appendv([new Uint8Array(10 * KIB), new Uint8Array(10 * KIB)])).toThrow(
      expect.objectContaining({ code: 'OVER_LIMIT' }),
    )
    expect([file.size, storage.usedBytes]).toEqual([50 * KIB, used])
    file.appendv([new Uint8Array(14 * KIB).fill(2)])
    expect([file.size, storage.usedBytes]).toEqual([64 * KIB, 64 * KIB])
    expect(() => file.appendv([new Uint8Array(1)])).toThrow(expect.objectContaining({ code: 'OVER_LIMIT' }))
  })

  it('says OVER_LIMIT when a replacement does not fit, and keeps the old content', () => {
    const storage = make(4 * KIB)
    storage.open('f', { create: true }).appendv([Uint8Array.of(1)])
    expect(storage.replace('f', new Uint8Array(KIB)).value).toMatchObject({ code: 'OVER_LIMIT' })
    expect(storage.open('f').read(0, 9)).toEqual([Uint8Array.of(1)])
  })

  it('gives back what truncation, replacement and removal free', () => {
    const storage = make()
    const file = storage.open('d/f', { create: true })
    file.appendv([new Uint8Array(12 * KIB)])
    file.truncate(100)
    expect(storage.usedBytes).toBe(4 * KIB)
    storage.replace('d/f', new Uint8Array(10))
    expect(storage.usedBytes).toBe(10)
    const other = storage.open('d/g', { create: true })
    other.appendv([new Uint8Array(1)])
    storage.rename('d/g', 'd/f')
    expect(storage.usedBytes).toBe(4 * KIB)
    storage.remove('d')
    expect(storage.usedBytes).toBe(0)
  })

  it('no longer counts a file that lost its name', () => {
    const storage = make()
    const file = storage.open('f', { create: true })
    file.appendv([new Uint8Array(12 * KIB)])
    storage.remove('f')
    file.appendv([new Uint8Array(12 * KIB)])
    file.truncate(0)
    expect(storage.usedBytes).toBe(0)
  })

  it('hands out views, not copies', () => {
    const storage = make()
    const file = storage.open('f', { create: true })
    file.appendv([new Uint8Array(100)])
    expect(file.read(0, 50)[0].buffer).toBe(file.read(60, 10)[0].buffer)
  })

  it('takes a position outside of the file, or a path that climbs, for a mistake of its caller', () => {
    const storage = make()
    const file = storage.open('f', { create: true })
    file.appendv([new Uint8Array(3)])
    expect(() => file.writeAt(2, new Uint8Array(2))).toThrow(AssertionError)
    expect(() => file.truncate(4)).toThrow(AssertionError)
    expect(() => storage.open('../f', { create: true })).toThrow(AssertionError)
  })
})

describe('a fork of a memory storage', () => {
  const bytes = (text: string) => new TextEncoder().encode(text)
  const textOf = (storage: MemoryStorage, path: string) => {
    const file = storage.open(path)
    return file
      .read(0, file.size)
      .map(part => new TextDecoder().decode(part))
      .join('')
  }

  it('has the same files, and neither sees what the other does afterwards', () => {
    const storage = new MemoryStorage({ turns: new Turns() })
    const file = storage.open('a/b/file', { create: true })
    file.appendv([bytes('one ')])
    const fork = storage.fork()
    file.appendv([bytes('two')])
    const forked = fork.open('a/b/file')
    forked.appendv([bytes('2')])
    forked.writeAt(0, bytes('O'))
    fork.open('a/other', { create: true })
    expect(textOf(storage, 'a/b/file')).toBe('one two')
    expect(textOf(fork, 'a/b/file')).toBe('One 2')
    expect(storage.exists('a/other')).toBe(false)
    file.truncate(1)
    file.appendv([bytes('!')])
    storage.remove('a')
    expect(textOf(fork, 'a/b/file')).toBe('One 2')
    expect(textOf(fork.fork(), 'a/b/file')).toBe('One 2')
  })

  it('lets files grow that the broker needs, and counts them', () => {
    const storage = make(10_000)
    storage.open('needed', { create: true, exempt: true }).appendv([new Uint8Array(50_000)])
    expect(storage.usedBytes).toBeGreaterThanOrEqual(50_000)
    expect(storage.usage().usableBytes).toBe(0)
    const other = storage.open('other', { create: true })
    expect(() => other.appendv([new Uint8Array(1)])).toThrow('no space')
    storage
      .fork()
      .open('needed')
      .appendv([new Uint8Array(50_000)])
  })

  it('counts what it holds, and gives it back', () => {
    const storage = new MemoryStorage({ turns: new Turns(), maxBytes: 10_000 })
    storage.open('file', { create: true }).appendv([bytes('text')])
    const fork = storage.fork()
    expect(fork.usedBytes).toBe(storage.usedBytes)
    expect(fork.maxBytes).toBe(10_000)
    fork.remove('file')
    expect(fork.usedBytes).toBe(0)
    expect(storage.usedBytes).toBeGreaterThan(0)
  })
})

describe('files that share bytes', () => {
  const file = (storage: MemoryStorage, path: string) => storage.open(path, { create: true })
  const numbers = (length: number, from = 0) => Uint8Array.from({ length }, (_, index) => (from + index) % 251)
  const content = (of: { size: number; read(position: number, length: number): Uint8Array[] }) =>
    of.read(0, of.size).flatMap(part => [...part])

  it('count them once, until the last has let go', () => {
    const meter = new MemoryMeter()
    const [first, second] = [1, 2].map(() => new MemoryStorage({ turns: new Turns(), meter }))
    const leader = file(first, 'f')
    leader.appendv([numbers(4 * KIB)])
    const follower = file(second, 'f')
    follower.appendv(leader.read(0, 2 * KIB), { immutable: true })
    follower.appendv(leader.read(2 * KIB, 2 * KIB), { immutable: true })
    expect(meter.used).toBe(4 * KIB)
    expect(content(follower)).toEqual([...numbers(4 * KIB)])
    first.remove('f')
    expect(meter.used).toBe(4 * KIB)
    expect(content(follower)).toEqual([...numbers(4 * KIB)])
    second.remove('f')
    expect(meter.used).toBe(0)
  })

  it('are each cut, and go on, without harm to another', () => {
    const storage = make()
    const leader = file(storage, 'leader')
    leader.appendv([numbers(3 * KIB)])
    const follower = file(storage, 'follower')
    follower.appendv(leader.read(0, 3 * KIB), { immutable: true })
    leader.truncate(1 * KIB)
    leader.appendv([numbers(2 * KIB, 100)])
    expect(content(follower)).toEqual([...numbers(3 * KIB)])
    follower.truncate(2 * KIB)
    follower.writeAt(0, Uint8Array.of(77))
    follower.appendv([Uint8Array.of(5)])
    follower.appendv(leader.read(1 * KIB, 2 * KIB), { immutable: true })
    expect(content(leader)).toEqual([...numbers(1 * KIB), ...numbers(2 * KIB, 100)])
    expect(content(follower)).toEqual([77, ...numbers(2 * KIB).slice(1), 5, ...numbers(2 * KIB, 100)])
  })

  it('copy what is small, and refuse a slab that does not fit', () => {
    const storage = make(8 * KIB)
    const small = file(storage, 'small')
    small.appendv([numbers(10)], { immutable: true })
    expect(storage.usedBytes).toBe(4 * KIB)
    const large = new Uint8Array(8 * KIB)
    expect(() => small.appendv([large], { immutable: true })).toThrow(expect.objectContaining({ code: 'OVER_LIMIT' }))
    expect(content(small)).toEqual([...numbers(10)])
    small.appendv([numbers(10, 10)])
    expect(content(small)).toEqual([...numbers(20)])
  })
})
