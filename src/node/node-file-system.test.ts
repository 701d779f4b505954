import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diskForTests } from '../../test/support/disk.ts'
import { storageContract } from '../storage/storage.contract.ts'

storageContract('disk', () => diskForTests())
storageContract('disk with few open files', () => diskForTests({ maxOpenFiles: 1 }))

describe('NodeFileSystem', () => {
  it('makes its root with all directories above it', () => {
    const { root } = diskForTests()
    const { storage } = diskForTests({ root: join(root, 'a/b') })
    storage.open('f', { create: true }).appendv([Uint8Array.of(1)])
    expect(diskForTests({ root }).storage.list('a/b')).toEqual(['f'])
  })

  it('locks a directory whose path is longer than that of a socket may be', async () => {
    const { root } = diskForTests()
    const disk = diskForTests({ root: join(root, 'a'.repeat(80), 'b'.repeat(80)) })
    expect(await disk.settled(disk.storage.lock())).toBeUndefined()
    const another = disk.another()
    expect(await disk.settled(another.lock())).toMatchObject({
      code: 'LOCKED',
      message: expect.stringContaining(`b is in use by the broker of process ${process.pid}`),
    })
    await disk.settled(disk.storage.close())
    expect(disk.fileSystem.list('')).toEqual([])
    expect(await disk.settled(another.lock())).toBeUndefined()
    await disk.settled(another.close())
  })

  it('locks a directory whatever a process that died has left in it', async () => {
    const { storage, settled, root, fileSystem } = diskForTests()
    writeFileSync(join(root, 'ottla.lock'), '')
    expect(await settled(storage.lock())).toBeUndefined()
    await settled(storage.close())
    expect(fileSystem.list('')).toEqual([])
  })

  it('says how much room there is', () => {
    const { storage, root } = diskForTests()
    const { path, totalBytes, usableBytes } = storage.usage()
    expect(path).toBe(root)
    expect(totalBytes).toBeGreaterThan(1_000_000)
    expect(usableBytes).toBeLessThanOrEqual(totalBytes)
  })

  it('hands out plain arrays, whose slice copies', () => {
    const { storage, root } = diskForTests()
    writeFileSync(join(root, 'f'), 'abc')
    const [bytes] = storage.open('f').read(0, 3)
    expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype)
  })

  it('never hands out the same bytes twice', () => {
    const { fileSystem } = diskForTests()
    const parts = Array.from({ length: 500 }, (_, index) => fileSystem.allocate(1 + ((index * 977) % 40_000)))
    for (const [index, part] of parts.entries()) part.fill(index)
    for (const [index, part] of parts.entries()) expect(part.every(byte => byte === (index & 255))).toBe(true)
  })

  it('reports what cannot be synced', async () => {
    const { fileSystem, settled } = diskForTests()
    expect(await settled(fileSystem.syncDirectory('nothing'))).toMatchObject({ code: 'ENOENT' })
    expect(await settled(fileSystem.unlink('nothing'))).toMatchObject({ code: 'ENOENT' })
  })
})
