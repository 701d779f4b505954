/**
 * What every implementation of the storage port must do: memory, a disk, a simulated disk. Each runs this suite from a test of
 * its own; it is no test of limits or of durability, which differ.
 */

import { beforeEach, describe, expect, it } from 'vitest'
import type { Later } from '../util/later.ts'
import { type Storage, StorageError, type StorageFailure } from './storage.ts'

/** What the suite needs of an implementation. */
export interface StorageUnderTest {
  storage: Storage
  /** Waits for (or drives on to) the end of an asynchronous call. */
  settled(later: Later<StorageFailure | undefined>): Promise<StorageFailure | undefined>
  /** Another object on the same files, for the lock. Left out where there cannot be one. */
  another?(): Storage
}

const bytes = (...values: number[]) => Uint8Array.from(values)
const joined = (parts: Uint8Array[]) => parts.flatMap(part => [...part])
const pattern = (length: number, seed: number) => Uint8Array.from({ length }, (_, index) => (index * 31 + seed) & 0xff)

/** Runs the suite; `make` gives an empty storage each time. */
export function storageContract(name: string, make: () => StorageUnderTest | Promise<StorageUnderTest>): void {
  describe(`storage contract: ${name}`, () => {
    let under: StorageUnderTest
    let storage: Storage
    beforeEach(async () => {
      under = await make()
      storage = under.storage
    })

    describe('names', () => {
      it('refuses to open what is not there', () => {
        expect(() => storage.open('a')).toThrow(StorageError)
        expect(storage.exists('a')).toBe(false)
        expect(storage.list('')).toEqual([])
      })

      it('creates a file with its directories, and lists names sorted, each once', () => {
        for (const path of ['t-0/b.log', 't-0/a.log', 't-1/a.log', 'top']) storage.open(path, { create: true })
        expect(storage.list('')).toEqual(['t-0', 't-1', 'top'])
        expect(storage.list('t-0')).toEqual(['a.log', 'b.log'])
        expect(storage.list('t')).toEqual([])
        expect([storage.exists('t-0'), storage.exists('t-0/a.log'), storage.exists('t')]).toEqual([true, true, false])
      })

      it('does not take a directory for a file', () => {
        storage.open('d/f', { create: true })
        expect(() => storage.open('d', { create: true })).toThrow(StorageError)
      })

      it('opens the same content again', () => {
        storage.open('f', { create: true }).appendv([bytes(1, 2)])
        const again = storage.open('f', { create: true })
        expect(again.path).toBe('f')
        again.appendv([bytes(3)])
        expect(joined(storage.open('f').read(0, 10))).toEqual([1, 2, 3])
      })

      it('removes a file', async () => {
        const file = storage.open('d/f', { create: true })
        file.appendv([bytes(1, 2, 3)])
        storage.open('d/g', { create: true })
        expect(await under.settled(storage.remove('d/f'))).toBeUndefined()
        expect(storage.list('d')).toEqual(['g'])
        expect(() => storage.open('d/f')).toThrow(StorageError)
        expect(storage.open('d/f', { create: true }).size).toBe(0)
      })

      it('goes on reading a removed file through its handle', async () => {
        const file = storage.open('f', { create: true })
        file.appendv([bytes(1, 2, 3)])
        await under.settled(storage.remove('f'))
        expect(joined(file.read(0, 3))).toEqual([1, 2, 3])
      })

      it('removes a directory with all it holds, and nothing beside it', async () => {
        for (const path of ['t-1/a', 't-1/deep/b', 't-10/a']) storage.open(path, { create: true })
        expect(await under.settled(storage.remove('t-1'))).toBeUndefined()
        expect(storage.list('')).toEqual(['t-10'])
      })

      it('has nothing against removing what is not there', async () => {
        expect(await under.settled(storage.remove('nothing'))).toBeUndefined()
      })

      it('renames a file over another, and a directory', () => {
        storage.open('d/a', { create: true }).appendv([bytes(1)])
        storage.open('d/b', { create: true }).appendv([bytes(2)])
        storage.rename('d/a', 'd/b')
        expect(storage.list('d')).toEqual(['b'])
        expect(joined(storage.open('d/b').read(0, 9))).toEqual([1])
        storage.rename('d', 'e')
        expect(storage.list('')).toEqual(['e'])
        expect(joined(storage.open('e/b').read(0, 9))).toEqual([1])
        expect(() => storage.rename('d', 'f')).toThrow(StorageError)
      })

      it('gives a name free at once, before what had it is removed for good', async () => {
        storage.open('d/f', { create: true }).appendv([bytes(1, 2, 3)])
        const removals = [storage.remove('d/f')]
        expect([storage.exists('d/f'), storage.list('d')]).toEqual([false, []])
        storage.open('d/f', { create: true }).appendv([bytes(4)])
        removals.push(storage.remove('d'))
        expect([storage.exists('d'), storage.list('')]).toEqual([false, []])
        storage.open('d/f', { create: true }).appendv([bytes(5)])
        for (const removal of removals) expect(await under.settled(removal)).toBeUndefined()
        expect([storage.list(''), storage.list('d')]).toEqual([['d'], ['f']])
        expect(joined(storage.open('d/f').read(0, 9))).toEqual([5])
      })

      it('renames a file into another directory, which is made', async () => {
        const file = storage.open('a/f', { create: true })
        file.appendv([bytes(1)])
        storage.rename('a/f', 'b/c/g')
        expect([storage.list('a'), storage.list('b/c')]).toEqual([[], ['g']])
        file.appendv([bytes(2)])
        expect(await under.settled(file.flush())).toBeUndefined()
        expect(joined(storage.open('b/c/g').read(0, 9))).toEqual([1, 2])
        storage.open('a/f', { create: true }).appendv([bytes(3)])
        expect(joined(file.read(0, 9))).toEqual([1, 2])
      })

      it('syncs a directory, and the root', async () => {
        storage.open('d/f', { create: true })
        storage.rename('d/f', 'd/g')
        expect(await under.settled(storage.syncDirectory('d'))).toBeUndefined()
        await under.settled(storage.remove('d'))
        expect(await under.settled(storage.syncDirectory(''))).toBeUndefined()
      })

      it('keeps handles usable across a rename', () => {
        const file = storage.open('d/a', { create: true })
        storage.rename('d', 'e')
        file.appendv([bytes(7)])
        expect(joined(storage.open('e/a').read(0, 9))).toEqual([7])
      })
    })

    describe('bytes', () => {
      it('appends parts in order and copies them', () => {
        const file = storage.open('f', { create: true })
        const part = bytes(1, 2)
        file.appendv([part, bytes(), bytes(3)])
        part.fill(9)
        file.appendv([bytes(4)])
        file.appendv([])
        expect(file.size).toBe(4)
        expect(joined(file.read(0, 4))).toEqual([1, 2, 3, 4])
      })

      it('reads any range, over any boundary inside', () => {
        const file = storage.open('f', { create: true })
        const all: number[] = []
        for (const [index, length] of [1, 4000, 100, 4096, 9000, 20000, 70000, 3].entries()) {
          const part = pattern(length, index)
          file.appendv([part.subarray(0, length >> 1), part.subarray(length >> 1)])
          all.push(...part)
        }
        expect(file.size).toBe(all.length)
        for (const [from, length] of [
          [0, 1],
          [0, all.length],
          [4000, 200],
          [8000, 30000],
          [all.length - 5, 5],
        ]) {
          expect(joined(file.read(from, length))).toEqual(all.slice(from, from + length))
          const target = new Uint8Array(length)
          expect(file.readInto(from, target)).toBe(length)
          expect([...target]).toEqual(all.slice(from, from + length))
        }
      })

      it('reads what there is when asked for more, and nothing at the end', () => {
        const file = storage.open('f', { create: true })
        expect(file.read(0, 5)).toEqual([])
        file.appendv([bytes(1, 2, 3)])
        expect(joined(file.read(1, 100))).toEqual([2, 3])
        expect(file.read(3, 1)).toEqual([])
        expect(file.read(1, 0)).toEqual([])
        const target = bytes(9, 9, 9, 9)
        expect(file.readInto(2, target)).toBe(1)
        expect([...target]).toEqual([3, 9, 9, 9])
      })

      it('writes in the middle', () => {
        const file = storage.open('f', { create: true })
        file.appendv([pattern(10000, 1)])
        file.writeAt(4090, bytes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
        expect(joined(file.read(4089, 12))).toEqual([
          pattern(10000, 1)[4089],
          ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
          pattern(10000, 1)[4100],
        ])
        expect(file.size).toBe(10000)
      })

      it('truncates, to the middle and to nothing, and appends behind', () => {
        const file = storage.open('f', { create: true })
        file.appendv([pattern(20000, 1)])
        file.truncate(5000)
        expect(file.size).toBe(5000)
        expect(file.read(5000, 10)).toEqual([])
        file.appendv([bytes(1, 2, 3)])
        expect(joined(file.read(4999, 10))).toEqual([pattern(20000, 1)[4999], 1, 2, 3])
        file.truncate(0)
        expect(file.size).toBe(0)
        file.appendv([bytes(5)])
        expect(joined(file.read(0, 10))).toEqual([5])
      })

      it('never changes what it handed out', async () => {
        const file = storage.open('f', { create: true })
        file.appendv([pattern(6000, 1)])
        const held = file.read(0, 6000)
        const before = joined(held)
        file.writeAt(10, bytes(255, 255))
        expect(joined(held)).toEqual(before)
        file.truncate(100)
        file.appendv([pattern(6000, 77)])
        expect(joined(held)).toEqual(before)
        const last = file.read(0, 6100)
        const lastBefore = joined(last)
        await under.settled(storage.remove('f'))
        storage.open('f', { create: true }).appendv([pattern(9000, 5)])
        expect(joined(held)).toEqual(before)
        expect(joined(last)).toEqual(lastBefore)
      })

      it('puts new content in the place of a file, old handles keep the old one', async () => {
        const file = storage.open('d/f', { create: true })
        file.appendv([bytes(1, 2, 3)])
        expect(await under.settled(storage.replace('d/f', bytes(4, 5)))).toBeUndefined()
        expect(joined(storage.open('d/f').read(0, 9))).toEqual([4, 5])
        expect(joined(file.read(0, 9))).toEqual([1, 2, 3])
        expect(await under.settled(storage.replace('new/f', bytes()))).toBeUndefined()
        expect(storage.open('new/f').size).toBe(0)
        expect(storage.list('d')).toEqual(['f'])
      })

      it('replaces a file several times in a row: the last content stays, and all are told', async () => {
        const laters = [1, 2, 3, 4].map(value => storage.replace('d/f', bytes(value)))
        for (const later of laters) expect(await under.settled(later)).toBeUndefined()
        expect(joined(storage.open('d/f').read(0, 9))).toEqual([4])
        expect(storage.list('d')).toEqual(['f'])
      })

      it('does not bring back a file that is removed while it is replaced, unless it is replaced once more', async () => {
        const laters = [storage.replace('d/f', bytes(1)), storage.replace('d/f', bytes(2)), storage.remove('d/f')]
        for (const later of laters) expect(await under.settled(later)).toBeUndefined()
        expect([storage.exists('d/f'), storage.list('d')]).toEqual([false, []])
        const more = [storage.replace('d/f', bytes(3)), storage.remove('d/f'), storage.replace('d/f', bytes(4))]
        for (const later of more) expect(await under.settled(later)).toBeUndefined()
        expect(storage.list('d')).toEqual(['f'])
        expect(joined(storage.open('d/f').read(0, 9))).toEqual([4])
      })

      it('replaces a file of a directory that is renamed or removed meanwhile', async () => {
        const first = storage.replace('d/f', bytes(1))
        storage.rename('d', 'e')
        expect(await under.settled(first)).toBeUndefined()
        expect(storage.list('')).toEqual(['e'])
        expect(joined(storage.open('e/f').read(0, 9))).toEqual([1])
        const second = storage.replace('e/f', bytes(2))
        const removed = storage.remove('e')
        expect(await under.settled(second)).toBeUndefined()
        expect(await under.settled(removed)).toBeUndefined()
        expect(storage.list('')).toEqual([])
      })

      it('has a size that all handles share, also of one that was opened again', async () => {
        const one = storage.open('f', { create: true })
        const two = storage.open('f')
        one.appendv([bytes(1, 2)])
        two.appendv([bytes(3)])
        expect([one.size, two.size]).toEqual([3, 3])
        expect(await under.settled(one.close())).toBeUndefined()
        expect(joined(two.read(0, 9))).toEqual([1, 2, 3])
        expect(await under.settled(two.close())).toBeUndefined()
        expect(storage.open('f').size).toBe(3)
      })

      it('says when it was written last, as far as it knows, and takes it when told otherwise', async () => {
        const file = storage.open('f', { create: true })
        file.appendv([bytes(1)], { nowMs: 5000 })
        if (file.modifiedMs === undefined) return
        file.setModified(1_000_000)
        expect(file.modifiedMs).toBe(1_000_000)
        expect(await under.settled(file.close())).toBeUndefined()
        const again = storage.open('f')
        expect(again.modifiedMs).toBe(1_000_000)
        again.appendv([bytes(2)], { nowMs: 2_000_000 })
        expect(again.modifiedMs).toBeGreaterThanOrEqual(2_000_000)
      })

      it('appends nothing for parts without bytes', () => {
        const file = storage.open('f', { create: true })
        file.appendv([])
        file.appendv([bytes(), bytes()])
        expect(file.size).toBe(0)
      })

      it('keeps many files in use at a time', async () => {
        const files = Array.from({ length: 100 }, (_, index) =>
          storage.open(`d-${index % 7}/f-${index}`, { create: true }),
        )
        for (let round = 0; round < 3; round++) {
          for (const [index, file] of files.entries()) file.appendv([bytes(index, round)])
        }
        for (const [index, file] of files.entries()) {
          expect(joined(file.read(0, 9))).toEqual([index, 0, index, 1, index, 2])
          if (index % 3 === 0) expect(await under.settled(file.flush())).toBeUndefined()
        }
        for (const file of files) expect(await under.settled(file.close())).toBeUndefined()
        expect(joined(storage.open('d-1/f-99').read(4, 2))).toEqual([99, 2])
      })

      it('flushes and closes', async () => {
        const file = storage.open('f', { create: true })
        file.appendv([bytes(1)])
        expect(await under.settled(file.flush())).toBeUndefined()
        expect(await under.settled(file.close())).toBeUndefined()
        expect(joined(storage.open('f').read(0, 1))).toEqual([1])
      })
    })

    it('locks for one, until it closes', async () => {
      expect(await under.settled(storage.lock())).toBeUndefined()
      const second = under.another?.() ?? storage
      expect(await under.settled(second.lock())).toMatchObject({ code: 'LOCKED' })
      expect(await under.settled(storage.close())).toBeUndefined()
      expect(await under.settled(second.lock())).toBeUndefined()
      await under.settled(second.close())
    })
  })
}
