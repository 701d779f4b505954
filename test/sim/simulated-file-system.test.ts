/** The simulated disk under the disk storage passes the contract of all storages, and it loses what it is to lose. */

import { describe, expect, it } from 'vitest'
import { DiskStorage } from '../../src/storage/disk-storage.ts'
import { storageContract } from '../../src/storage/storage.contract.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { Chance } from './chance.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { SimulatedFileSystem } from './simulated-file-system.ts'

function storageOn(disk: SimulatedDisk, env: VirtualEnv): DiskStorage {
  return new DiskStorage({ fileSystem: new SimulatedFileSystem(disk, env), turns: env.turns })
}

storageContract('disk storage on the simulated disk', () => {
  const env = new VirtualEnv()
  const disk = new SimulatedDisk(new Chance(1))
  return {
    storage: storageOn(disk, env),
    async settled(later) {
      env.advance(1000)
      return later.value
    },
    another: () => storageOn(disk, env),
  }
})

/** A fresh disk and calls on it that wait. */
function disks(seed: number) {
  const env = new VirtualEnv()
  const disk = new SimulatedDisk(new Chance(seed))
  const files = new SimulatedFileSystem(disk, env)
  return {
    disk,
    files,
    sync(file: number) {
      const outcome = files.syncFile(file)
      env.advance(100)
      return outcome.value
    },
    syncDirectory(path: string) {
      const outcome = files.syncDirectory(path)
      env.advance(100)
      return outcome.value
    },
    text(path: string) {
      if (files.status(path) === undefined) return undefined
      const again = new SimulatedFileSystem(disk, env)
      const file = again.openFile(path, { create: false })
      const bytes = again.allocate(again.fileSize(file))
      again.readAt(file, 0, bytes)
      return utf8Decode(bytes)
    },
  }
}

const SEEDS = [...Array(60).keys()]

describe('a power cut', () => {
  it('keeps what was synced, bytes and name', () => {
    for (const seed of SEEDS) {
      const { disk, files, sync, syncDirectory, text } = disks(seed)
      const file = files.openFile('a', { create: true })
      files.writevAt(file, 0, [utf8Encode('whole'), utf8Encode(' text')])
      expect([sync(file), syncDirectory('')]).toEqual([undefined, undefined])
      files.writevAt(file, 10, [utf8Encode(', and more')])
      disk.losePower()
      expect(text('a')?.slice(0, 10)).toBe('whole text')
    }
  })

  it('may lose the name of a synced file whose directory was not, and may keep it', () => {
    const found = SEEDS.map(seed => {
      const { disk, files, sync, text } = disks(seed)
      const file = files.openFile('a', { create: true })
      files.writevAt(file, 0, [utf8Encode('x')])
      sync(file)
      disk.losePower()
      return text('a')
    })
    expect(new Set(found)).toEqual(new Set([undefined, 'x']))
  })

  it('keeps any of several writes, also later ones without earlier ones, and halves of them', () => {
    const found = new Set(
      [...Array(400).keys()].map(seed => {
        const { disk, files, syncDirectory, text } = disks(seed)
        const file = files.openFile('a', { create: true })
        syncDirectory('')
        files.writevAt(file, 0, [utf8Encode('ab')])
        files.writevAt(file, 2, [utf8Encode('cd')])
        disk.losePower()
        return text('a')
      }),
    )
    for (const each of ['', 'abcd', 'ab', '\0\0cd', 'a', 'abc']) expect(found).toContain(each)
  })

  it('loses a rename or keeps it, never half of it', () => {
    const found = new Set(
      SEEDS.map(seed => {
        const { disk, files, sync, syncDirectory, text } = disks(seed)
        for (const name of ['old', 'new']) {
          const file = files.openFile(name, { create: true })
          files.writevAt(file, 0, [utf8Encode(name)])
          sync(file)
        }
        syncDirectory('')
        files.rename('new', 'old')
        disk.losePower()
        return `${text('old')} ${text('new')}`
      }),
    )
    expect(found).toEqual(new Set(['old new', 'new undefined']))
  })

  it('after a failed sync even a sync that succeeds saves nothing', () => {
    const found = SEEDS.map(seed => {
      const { disk, files, sync, syncDirectory, text } = disks(seed)
      const file = files.openFile('a', { create: true })
      syncDirectory('')
      files.writevAt(file, 0, [utf8Encode('x')])
      disk.faults.syncFails = 1
      expect(sync(file)).toMatchObject({ code: 'EIO' })
      disk.faults.syncFails = 0
      expect(sync(file)).toBeUndefined()
      disk.losePower()
      return text('a')
    })
    expect(found).toContain('')
  })
})

describe('a process that is struck', () => {
  it('leaves what it had done until then, and nothing of what it does afterwards', () => {
    for (const seed of SEEDS) {
      const { disk, files, text } = disks(seed)
      const file = files.openFile('a', { create: true })
      let struck = 0
      disk.strikeAfter(1, () => struck++)
      files.writevAt(file, 0, [utf8Encode('one ')])
      files.writevAt(file, 4, [utf8Encode('two')])
      files.writevAt(file, 7, [utf8Encode(' three')])
      disk.processDied()
      expect(struck).toBe(1)
      expect('one two'.startsWith(text('a') as string) && text('a')?.startsWith('one ')).toBe(true)
    }
  })
})

describe('a bad disk', () => {
  it('writes a part when it is full or interrupted, and says how much', () => {
    const { disk, files } = disks(3)
    const file = files.openFile('a', { create: true })
    disk.faults.writeIsShort = 1
    const written = files.writevAt(file, 0, [new Uint8Array(1000)])
    expect(written).toBeLessThanOrEqual(1000)
    expect(files.fileSize(file)).toBe(written)
    disk.faults.writeIsShort = 0
    disk.faults.full = true
    for (let tries = 0; tries < 20; tries++) {
      const size = files.fileSize(file)
      try {
        expect(files.writevAt(file, size, [new Uint8Array(50)])).toBeLessThan(50)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOSPC' })
        expect(files.fileSize(file)).toBe(size)
      }
    }
    expect(files.writevAt(file, 0, [new Uint8Array(10)])).toBe(10)
  })
})
