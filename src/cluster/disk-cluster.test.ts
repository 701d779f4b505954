import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { platform } from '../../test/broker/harness.ts'
import { diskForTests, type TestDisk, temporaryDirectory } from '../../test/support/disk.ts'
import { openDataDirectory } from '../broker/data-directory.ts'
import { ask } from '../broker/forward.ts'
import { appendToTopic, countRecords, readTopic } from '../broker/topic-access.ts'
import type { FileSystemFailure } from '../storage/file-system.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { DiskCluster } from './disk-cluster.ts'
import type { TopicDeclaration } from './hub.ts'

async function start(root: string, { topics = [] as TopicDeclaration[], configs = {} } = {}) {
  const disk = diskForTests({ root })
  const { env, storage } = disk
  const random = () => env.random()
  await disk.settled(storage.lock())
  const directory = await disk.settled(openDataDirectory({ storage, turns: env.turns, nodeId: 1, random }))
  if ('kind' in directory) throw new Error(directory.message)
  const cluster = new DiskCluster({ env, storage, platform, directory, configs })
  const refused = await env.settled(() => cluster.start({ host: 'localhost', port: 9092, topics }))
  if (refused) throw refused
  const inTurn = <T>(run: () => T): T => {
    let result: T | undefined
    env.event(() => {
      result = run()
    })
    return result as T
  }
  const append = (topic: string, partition: number, ...values: string[]) =>
    inTurn(() =>
      appendToTopic(
        cluster.broker,
        topic,
        values.map(value => ({ key: null, value: utf8Encode(value), partition, headers: [] })),
      ),
    )
  const read = (topic: string) =>
    readTopic(cluster.broker, topic).map(({ value }) => value && utf8Decode(value as Uint8Array))
  const stop = async () => {
    const failure = await env.settled(() => cluster.shutdown())
    env.close()
    return failure
  }
  return { disk, cluster, broker: cluster.broker, directory, append, read, stop, inTurn }
}

const opened = (disk: TestDisk, ending: RegExp) =>
  disk.calls.filter(call => call.startsWith('openFile ') && ending.test(call))

describe('a cluster on a data directory', () => {
  it('opens a thousand partitions after a good stop without reading their batches', async () => {
    const root = temporaryDirectory({ inMemory: true })
    const first = await start(root)
    // Nothing here is about what survives, so that it need not wait for the disk eight thousand times.
    const synced = () => Later.of<FileSystemFailure | undefined>(first.disk.env.turns, undefined)
    Object.assign(first.disk.faults, { syncFile: synced, syncDirectory: synced })
    await first.disk.env.settled(() => first.cluster.cluster.createTopics([{ name: 'many', partitions: 1000 }]))
    for (let partition = 0; partition < 1000; partition++) first.append('many', partition, 'x'.repeat(12_000))
    expect(await first.stop()).toBeUndefined()

    const second = await start(root)
    expect(second.directory.cleanShutdown).toBe(true)
    expect(opened(second.disk, /many-\d+\/\d+\./)).toEqual([])
    let bytesRead = 0
    second.disk.faults.readAt = function (this: TestDisk['fileSystem'], ...args) {
      const count = this.readAt(...args)
      bytesRead += count
      return count
    }
    expect(countRecords(second.broker, 'many')).toBe(1000)
    // Whose log it is, its epochs, its producers.
    expect(bytesRead).toBeLessThan(1000 * 200)
    expect(opened(second.disk, /many-\d+\/\d+\.(log|index|timeindex)$/)).toEqual([])
    bytesRead = 0
    const { log } = second.broker.replicas.leader('many', 7)
    expect(log.read(0, { maxBytes: 1000, minOneBatch: true, isolation: 'log_end' }).sizeInBytes).toBeGreaterThan(12_000)
    expect(bytesRead).toBeLessThan(50_000)
    await second.stop()
  }, 60_000)

  it('begins anew under the name of a topic that was deleted, whether its log was opened or not', async () => {
    const root = temporaryDirectory()
    const first = await start(root, { topics: [{ name: 'orders' }] })
    first.append('orders', 0, 'old')
    await first.stop()
    const second = await start(root)
    const { topicId } = second.broker.image.topicsByName.get('orders')!
    const request = { topics: [], topicNames: ['orders'], timeoutMs: 1000 }
    expect(topicId).toMatch(/^[\w-]{22}$/)
    await second.disk.env.settled(() => ask('deleteTopics', request, { broker: second.broker, apiVersion: 5 }))
    expect(readdirSync(root)).not.toContain('orders-0')
    await second.disk.env.settled(() => second.cluster.cluster.createTopics([{ name: 'orders' }]))
    expect(second.read('orders')).toEqual([])
    second.append('orders', 0, 'new')
    await second.stop()
    const third = await start(root)
    expect(third.read('orders')).toEqual(['new'])
    await third.stop()
  })

  it('takes an append on a full disk for what it is, and goes on when there is room', async () => {
    const root = temporaryDirectory()
    const { append, read, disk, stop } = await start(root, { topics: [{ name: 'orders' }] })
    append('orders', 0, 'before')
    disk.faults.writevAt = () => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    }
    expect(() => append('orders', 0, 'lost')).toThrow()
    delete disk.faults.writevAt
    append('orders', 0, 'after')
    expect(read('orders')).toEqual(['before', 'after'])
    expect(await stop()).toBeUndefined()
    expect((await start(root)).read('orders')).toEqual(['before', 'after'])
  })

  it('is not marked as closed when its logs could not be brought to the disk', async () => {
    const root = temporaryDirectory()
    const { append, disk, stop } = await start(root, { topics: [{ name: 'orders' }] })
    append('orders', 0, 'a')
    disk.faults.syncFile = () => Later.of(disk.env.turns, { code: 'EIO', message: 'as the test says' })
    expect(await stop()).toMatchObject({ code: 'IO' })
    expect(readdirSync(root)).not.toContain('.kafka_cleanshutdown')
  })

  it('sets logs aside that no topic has', async () => {
    const root = temporaryDirectory()
    const first = await start(root, { topics: [{ name: 'orders' }] })
    first.append('orders', 0, 'a')
    await first.stop()
    const stray = join(root, 'gone-0')
    mkdirSync(stray)
    writeFileSync(join(stray, 'partition.metadata'), 'version: 0\ntopic_id: abcdefghijklmnopqrstuA')
    const second = await start(root)
    expect(readdirSync(root).filter(name => /^(gone|orders)/.test(name))).toEqual([
      expect.stringMatching(/^gone-0\.[0-9a-f]{32}-stray$/),
      'orders-0',
    ])
    await second.stop()
  })

  it('keeps its metadata in snapshots once much was decided', async () => {
    const root = temporaryDirectory()
    const first = await start(root, { topics: [{ name: 'many', partitions: 1000 }] })
    for (let round = 0; round < 40; round++) {
      await first.disk.env.settled(() => first.cluster.cluster.raiseLeaderEpochs())
    }
    const { leaderEpoch, partitionEpoch } = first.broker.image.partition('many', 999)!
    await first.stop()
    const metadata = readdirSync(join(root, '__cluster_metadata-0'))
    expect(metadata.filter(name => name.endsWith('.checkpoint')).length).toBeGreaterThan(0)
    const second = await start(root)
    expect(second.broker.image.partition('many', 999)).toMatchObject({ leaderEpoch, partitionEpoch })
    await second.stop()
  })
})
