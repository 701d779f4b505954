import { describe, expect, it } from 'vitest'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { readWhole } from '../storage/read-whole.ts'
import type { Storage } from '../storage/storage.ts'
import { Turns } from '../util/turns.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { type DataDirectoryOptions, openDataDirectory } from './data-directory.ts'

const turns = new Turns()

function open(storage: Storage, options: Partial<DataDirectoryOptions> = {}) {
  const opened = openDataDirectory({ storage, turns, nodeId: 1, random: Math.random, ...options })
  turns.drain()
  return opened.value
}

const textOf = (storage: Storage, path: string) => {
  const bytes = readWhole(storage, path)
  return bytes && utf8Decode(bytes)
}
const write = (storage: Storage, path: string, text: string) => storage.replace(path, utf8Encode(text))

describe('a data directory', () => {
  it('is made in an empty directory, and is the same when it is opened again', () => {
    const storage = new MemoryStorage({ turns })
    const made = open(storage)
    expect(made).toMatchObject({ isNew: true, nodeId: 1, cleanShutdown: false, formatVersion: 1 })
    expect(storage.list('')).toEqual(['meta.properties', 'ottla.properties'])
    expect(open(storage)).toEqual({ ...made, isNew: false })
  })

  it('has a meta.properties as Kafka writes it', () => {
    const storage = new MemoryStorage({ turns })
    open(storage, { clusterId: '4L6g3nShT-eMCtK--X86sw', nodeId: 7 })
    expect(textOf(storage, 'meta.properties')).toMatch(
      /^#\ncluster\.id=4L6g3nShT-eMCtK--X86sw\ndirectory\.id=[\w-]{22}\nnode\.id=7\nversion=1\n$/,
    )
  })

  it('is made where nothing lies but marks of file systems', () => {
    const storage = new MemoryStorage({ turns })
    for (const name of ['lost+found/x', '.gitkeep', 'ottla.lock', 'meta.properties.tmp']) write(storage, name, '')
    expect(open(storage)).toMatchObject({ isNew: true })
  })

  it('is not made among the files of others', () => {
    const storage = new MemoryStorage({ turns })
    write(storage, 'meta.properties', 'version=1\nnode.id=1\ncluster.id=a\ndirectory.id=b\n')
    write(storage, 'orders-0/00000000000000000000.log', '')
    expect(open(storage)).toMatchObject({ kind: 'invalid', message: expect.stringContaining('holds meta.properties') })
    expect(storage.list('')).toEqual(['meta.properties', 'orders-0'])
  })

  it('of a newer format is refused, whatever else it holds, and left as it is', () => {
    const storage = new MemoryStorage({ turns })
    write(storage, 'ottla.properties', 'format.version=2\nnobody.knows=yet\n')
    write(storage, '.kafka_cleanshutdown', '')
    expect(open(storage)).toMatchObject({ kind: 'tooNew', message: expect.stringContaining('format is 2') })
    expect(storage.list('')).toEqual(['.kafka_cleanshutdown', 'ottla.properties'])
  })

  it.each(['', 'format.version=x', 'format.version=0'])('whose format file says %j is refused', text => {
    const storage = new MemoryStorage({ turns })
    write(storage, 'ottla.properties', text)
    expect(open(storage)).toMatchObject({ kind: 'invalid' })
  })

  it('whose making was cut short is made whole, unless it holds logs', () => {
    const storage = new MemoryStorage({ turns })
    write(storage, 'ottla.properties', 'format.version=1\n')
    const again = storage.fork()
    expect(open(storage)).toMatchObject({ isNew: true })
    write(again, '__cluster_metadata-0/00000000000000000000.log', '')
    expect(open(again)).toMatchObject({ kind: 'invalid', message: 'meta.properties is missing' })
  })

  it('of another node or cluster is refused', () => {
    const storage = new MemoryStorage({ turns })
    open(storage, { clusterId: 'mine' })
    expect(open(storage, { nodeId: 2 })).toMatchObject({ kind: 'invalid', message: expect.stringContaining('node 1') })
    expect(open(storage, { clusterId: 'yours' })).toMatchObject({ message: expect.stringContaining('cluster mine') })
    expect(open(storage, { clusterId: 'mine' })).toMatchObject({ isNew: false })
  })

  it('whose meta.properties is broken is refused', () => {
    const storage = new MemoryStorage({ turns })
    open(storage)
    write(storage, 'meta.properties', 'version=1\nnode.id=1\n')
    expect(open(storage)).toMatchObject({ kind: 'invalid', message: expect.stringContaining('cluster.id') })
  })

  it('says whether it was left in good order, and with which epoch', () => {
    const storage = new MemoryStorage({ turns })
    expect(open(storage)).toMatchObject({ cleanShutdown: false, brokerEpoch: -1 })
    write(storage, '.kafka_cleanshutdown', '{"version":0,"brokerEpoch":42}')
    expect(open(storage)).toMatchObject({ cleanShutdown: true, brokerEpoch: 42 })
    write(storage, '.kafka_cleanshutdown', '')
    expect(open(storage)).toMatchObject({ cleanShutdown: true, brokerEpoch: -1 })
    // It holds for one start: a process that is killed must not leave it behind.
    expect(open(storage)).toMatchObject({ cleanShutdown: false })
  })

  it('is swept of what was being removed', () => {
    const storage = new MemoryStorage({ turns })
    open(storage)
    write(storage, 'orders-0.3.deleted/00000000000000000000.log', '')
    open(storage)
    expect(storage.list('')).toEqual(['meta.properties', 'ottla.properties'])
  })
})
