import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diskForTests, type TestDisk } from '../../test/support/disk.ts'
import { AssertionError } from '../util/assert.ts'
import { Later } from '../util/later.ts'
import { FileSystemError, type FileSystemFailure } from './file-system.ts'

const bytes = (...values: number[]) => Uint8Array.from(values)
const joined = (parts: Uint8Array[]) => parts.flatMap(part => [...part])
const fails = (code: string) => () => {
  throw new FileSystemError(code, 'as the test says')
}
const failsLater = (disk: TestDisk, code: string) => () =>
  Later.of<FileSystemFailure | undefined>(disk.env.turns, { code, message: 'as the test says' })
/** The calls that have to do with bringing things to the disk. */
const syncsOf = (disk: TestDisk) => disk.calls.splice(0).filter(call => call.startsWith('sync'))

describe('appends of a disk storage', () => {
  it('go on after short writes', () => {
    const disk = diskForTests()
    const file = disk.storage.open('f', { create: true })
    disk.faults.writevAt = function (this: TestDisk['fileSystem'], id, position, parts) {
      delete disk.faults.writevAt
      return this.writevAt(id, position, [parts[0], parts[1].subarray(0, 1)])
    }
    file.appendv([bytes(1, 2), bytes(3, 4, 5), bytes(), bytes(6)])
    expect(joined(file.read(0, 9))).toEqual([1, 2, 3, 4, 5, 6])
  })

  it.each([
    ['ENOSPC', 'NO_SPACE'],
    ['EDQUOT', 'NO_SPACE'],
    ['EIO', 'IO'],
  ])('leave nothing behind when %s ends them half-way, and go on when they can', (errno, code) => {
    const disk = diskForTests()
    const file = disk.storage.open('f', { create: true })
    file.appendv([bytes(1)])
    disk.faults.writevAt = function (this: TestDisk['fileSystem'], id, position, parts) {
      disk.faults.writevAt = fails(errno)
      return this.writevAt(id, position, [parts[0]])
    }
    expect(() => file.appendv([bytes(2, 3), bytes(4)])).toThrow(expect.objectContaining({ code }))
    expect([file.size, statSync(join(disk.root, 'f')).size]).toEqual([1, 1])
    delete disk.faults.writevAt
    file.appendv([bytes(5)])
    expect(joined(file.read(0, 9))).toEqual([1, 5])
  })

  it('are refused once what was half written could not be cut off', () => {
    const disk = diskForTests()
    const file = disk.storage.open('f', { create: true })
    disk.faults.writevAt = fails('EIO')
    disk.faults.truncate = fails('EIO')
    expect(() => file.appendv([bytes(1)])).toThrow(expect.objectContaining({ code: 'IO' }))
    delete disk.faults.writevAt
    expect(() => file.appendv([bytes(1)])).toThrow(/cut off what was half written to f/)
    expect(disk.storage.open('other', { create: true }).size).toBe(0)
  })

  it('take a position outside of the file, or a path that climbs, for a mistake of the caller', () => {
    const { storage } = diskForTests()
    const file = storage.open('f', { create: true })
    file.appendv([bytes(1, 2, 3)])
    expect(() => file.writeAt(2, new Uint8Array(2))).toThrow(AssertionError)
    expect(() => file.truncate(4)).toThrow(AssertionError)
    expect(() => storage.open('../f', { create: true })).toThrow(AssertionError)
  })
})

describe('flushes of a disk storage', () => {
  it('sync a new file, its directory, and the directories that it was made in, once', async () => {
    const disk = diskForTests()
    const file = disk.storage.open('a/b/f', { create: true })
    await disk.settled(file.flush())
    expect(syncsOf(disk)).toEqual(['syncFile', 'syncDirectory a/b', 'syncDirectory a', 'syncDirectory '])
    file.appendv([bytes(1)])
    await disk.settled(file.flush())
    expect(syncsOf(disk)).toEqual(['syncFile'])
    await disk.settled(file.flush())
    expect(syncsOf(disk)).toEqual([])
    const other = disk.storage.open('a/b/g', { create: true })
    await disk.settled(other.flush())
    expect(syncsOf(disk)).toEqual(['syncFile', 'syncDirectory a/b'])
  })

  it('do not trust what another process may have left unsynced', async () => {
    const disk = diskForTests()
    disk.storage.open('a/f', { create: true }).appendv([bytes(1)])
    await disk.settled(disk.storage.close())
    disk.calls.length = 0
    await disk.settled(disk.another().open('a/f').flush())
    expect(syncsOf(disk)).toEqual(['syncFile', 'syncDirectory a', 'syncDirectory '])
  })

  it('of many files of one directory share the sync of the directory', async () => {
    const disk = diskForTests()
    const files = Array.from({ length: 50 }, (_, index) => disk.storage.open(`d/${index}`, { create: true }))
    await Promise.all(files.map(file => disk.settled(file.flush())))
    expect(syncsOf(disk).filter(call => call === 'syncDirectory d').length).toBeLessThanOrEqual(2)
  })

  it('of one file share the next sync while one is under way, which would miss what came after it began', async () => {
    const disk = diskForTests()
    const file = disk.storage.open('f', { create: true })
    await disk.settled(file.flush())
    disk.calls.length = 0
    const flushes = Array.from({ length: 20 }, (_, index) => {
      file.appendv([bytes(index)])
      return disk.settled(file.flush())
    })
    expect(await Promise.all(flushes)).toEqual(flushes.map(() => undefined))
    expect(syncsOf(disk)).toEqual(['syncFile', 'syncFile'])
  })

  it('wait for the sync that is under way even when nothing came after it', async () => {
    const disk = diskForTests()
    const file = disk.storage.open('f', { create: true })
    const first = file.flush()
    const second = file.flush()
    expect([first.settled, second.settled]).toEqual([false, false])
    await disk.settled(second)
    expect([first.settled, syncsOf(disk).filter(call => call === 'syncFile').length]).toEqual([true, 1])
  })

  it('fail for ever once one has failed, without another sync', async () => {
    const disk = diskForTests()
    const file = disk.storage.open('f', { create: true })
    await disk.settled(file.flush())
    disk.faults.syncFile = failsLater(disk, 'EIO')
    file.appendv([bytes(1)])
    expect(await disk.settled(file.flush())).toMatchObject({ code: 'IO' })
    delete disk.faults.syncFile
    disk.calls.length = 0
    expect(await disk.settled(file.flush())).toMatchObject({ code: 'IO' })
    file.appendv([bytes(1)])
    expect(await disk.settled(disk.storage.open('f').flush())).toMatchObject({ code: 'IO' })
    expect(syncsOf(disk)).toEqual([])
  })

  it('fail for files whose entries are in a directory that could not be synced, and not for those before', async () => {
    const disk = diskForTests()
    const before = disk.storage.open('d/before', { create: true })
    await disk.settled(before.flush())
    disk.faults.syncDirectory = failsLater(disk, 'EIO')
    expect(await disk.settled(disk.storage.open('d/f', { create: true }).flush())).toMatchObject({ code: 'IO' })
    delete disk.faults.syncDirectory
    disk.calls.length = 0
    expect(await disk.settled(disk.storage.open('d/f').flush())).toMatchObject({ code: 'IO' })
    expect(await disk.settled(disk.storage.syncDirectory('d'))).toMatchObject({ code: 'IO' })
    before.appendv([bytes(1)])
    expect(await disk.settled(before.flush())).toBeUndefined()
    expect(syncsOf(disk)).toEqual(['syncFile'])
  })

  it('sync the directory that a file was renamed into', async () => {
    const disk = diskForTests()
    const file = disk.storage.open('a/f', { create: true })
    await disk.settled(file.flush())
    disk.storage.rename('a/f', 'b/f')
    disk.calls.length = 0
    await disk.settled(file.flush())
    expect(syncsOf(disk)).toEqual(['syncDirectory b', 'syncDirectory '])
    disk.storage.rename('b', 'c')
    await disk.settled(file.flush())
    expect(syncsOf(disk)).toEqual(['syncDirectory '])
  })
})

describe('replacements on a disk', () => {
  it('sync the new content before it gets the name, and the directory afterwards', async () => {
    const disk = diskForTests()
    await disk.settled(disk.storage.replace('d/f', bytes(1)))
    const calls = disk.calls.filter(call => /^(sync|rename|write)/.test(call))
    expect(calls).toEqual(['writevAt', 'syncFile', 'rename d/f.tmp', 'syncDirectory d', 'syncDirectory '])
  })

  it.each(['openFile', 'writevAt', 'syncFile', 'rename'] as const)('keep the old content when %s fails', async name => {
    const disk = diskForTests()
    await disk.settled(disk.storage.replace('f', bytes(1)))
    disk.faults[name] = (name === 'syncFile' ? failsLater(disk, 'EIO') : fails('ENOSPC')) as never
    const code = name === 'syncFile' ? 'IO' : 'NO_SPACE'
    expect(await disk.settled(disk.storage.replace('f', bytes(2)))).toMatchObject({ code })
    delete disk.faults[name]
    expect(joined(disk.storage.open('f').read(0, 9))).toEqual([1])
    expect(await disk.settled(disk.storage.replace('f', bytes(3)))).toBeUndefined()
    expect([...readFileSync(join(disk.root, 'f'))]).toEqual([3])
  })

  it('are not disturbed by what a process that died has left', async () => {
    const disk = diskForTests()
    writeFileSync(join(disk.root, 'f.tmp'), 'longer than what comes')
    await disk.settled(disk.storage.replace('f', bytes(1)))
    expect(readdirSync(disk.root)).toEqual(['f'])
    expect(joined(disk.storage.open('f').read(0, 99))).toEqual([1])
  })

  it('write those that come while one is under way as one', async () => {
    const disk = diskForTests()
    await Promise.all([1, 2, 3, 4, 5].map(value => disk.settled(disk.storage.replace('f', bytes(value)))))
    expect(disk.calls.filter(call => call.startsWith('rename')).length).toBe(2)
    expect(joined(disk.storage.open('f').read(0, 9))).toEqual([5])
  })
})

describe('open files of a disk storage', () => {
  const fill = (disk: TestDisk, count: number) =>
    Array.from({ length: count }, (_, index) => {
      const file = disk.storage.open(`f-${index}`, { create: true })
      file.appendv([bytes(index)])
      return file
    })

  it('are bounded, and opened again when they are used', () => {
    const disk = diskForTests({ maxOpenFiles: 20 })
    const files = fill(disk, 100)
    expect(disk.storage.openFileCount).toBe(20)
    for (const [index, file] of files.entries()) expect(joined(file.read(0, 9))).toEqual([index])
    expect(disk.storage.openFileCount).toBe(20)
  })

  it('stay open while they are in use more often than others', () => {
    const disk = diskForTests({ maxOpenFiles: 20 })
    const [hot, ...cold] = fill(disk, 100)
    hot.read(0, 1)
    disk.calls.length = 0
    for (const file of cold) {
      file.read(0, 1)
      hot.read(0, 1)
    }
    expect(disk.calls.filter(call => call === 'openFile f-0')).toEqual([])
  })

  it('that were synced go before those that were not', async () => {
    const disk = diskForTests({ maxOpenFiles: 20 })
    const files = fill(disk, 20)
    for (const file of files.slice(10)) await disk.settled(file.flush())
    const more = Array.from({ length: 10 }, (_, index) => disk.storage.open(`g-${index}`, { create: true }))
    expect(more.length).toBe(10)
    disk.calls.length = 0
    for (const file of files.slice(0, 10)) file.read(0, 1)
    expect(disk.calls.filter(call => call.startsWith('openFile'))).toEqual([])
  })

  it('become fewer when the process has no descriptors left', () => {
    const disk = diskForTests()
    fill(disk, 100)
    disk.faults.openFile = function (this: TestDisk['fileSystem'], path, options) {
      delete disk.faults.openFile
      if (path === 'g') throw new FileSystemError('EMFILE', 'as the test says')
      return this.openFile(path, options)
    }
    disk.storage.open('g', { create: true }).appendv([bytes(1)])
    expect(disk.storage.openFileCount).toBe(76)
  })

  it('are none for files that were only looked at, and none once all handles are closed', async () => {
    const disk = diskForTests()
    const [file] = fill(disk, 1)
    const other = disk.storage.open('f-0')
    await disk.settled(file.close())
    expect(disk.storage.openFileCount).toBe(1)
    await disk.settled(other.close())
    expect(disk.storage.openFileCount).toBe(0)
    expect(disk.storage.open('f-0').size).toBe(1)
    expect(disk.storage.openFileCount).toBe(0)
    expect(() => file.read(0, 1)).toThrow(/is closed/)
  })

  it('are not closed under a sync', async () => {
    const disk = diskForTests()
    const [file] = fill(disk, 1)
    const flushed = file.flush()
    const closed = file.close()
    expect(disk.storage.openFileCount).toBe(1)
    expect(await disk.settled(closed)).toBeUndefined()
    expect(disk.storage.openFileCount).toBe(0)
    expect(await disk.settled(flushed)).toBeUndefined()
  })

  it('of a removed file are not opened again, for another may have its name', () => {
    const disk = diskForTests({ maxOpenFiles: 16 })
    const [file] = fill(disk, 1)
    disk.storage.remove('f-0')
    fill(disk, 40)
    expect(() => file.read(0, 1)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }))
  })

  it('are all closed at the end', async () => {
    const disk = diskForTests()
    fill(disk, 30)[3].flush()
    disk.storage.replace('x', bytes(1))
    expect(await disk.settled(disk.storage.close())).toBeUndefined()
    expect(disk.storage.openFileCount).toBe(0)
    expect(readdirSync(disk.root).length).toBe(31)
  })
})
