import fs, { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Consumer, Kafka, logLevel } from 'kafkajs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type BrokerOptions, type RunningBroker, startBroker, startCluster } from '../../src/node/index.ts'
import { verifyDataDir } from '../../src/node/verify-data-dir.ts'
import { temporaryDirectory } from '../support/disk.ts'

const running: RunningBroker[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map(broker => broker.close()))
})

async function start(options: BrokerOptions): Promise<RunningBroker> {
  const broker = await startBroker({ log: false, ...options })
  running.push(broker)
  return broker
}

const clientOf = (broker: RunningBroker) =>
  new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } })

async function produce(broker: RunningBroker, topic: string, values: string[], partition = 0): Promise<void> {
  const producer = clientOf(broker).producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  await producer.send({ topic, messages: values.map(value => ({ key: 'k', value, partition })) })
  await producer.disconnect()
}

/** Reads until `count` records came, and commits behind them. */
async function consume(broker: RunningBroker, topic: string, groupId: string, count: number): Promise<string[]> {
  const consumer: Consumer = clientOf(broker).consumer({ groupId, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const seen: string[] = []
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`saw only ${seen}`)), 20_000)
    consumer
      .run({
        autoCommit: false,
        eachMessage: async ({ message, partition }) => {
          seen.push(String(message.value))
          if (seen.length < count) return
          clearTimeout(timer)
          await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
          resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
  return seen
}

describe.each([
  ['in this thread', false],
  ['in a worker thread', true],
])('a broker with a data directory %s', (_, worker) => {
  it('has everything again when it is started anew', async () => {
    const dataDir = temporaryDirectory()
    const first = await start({ dataDir, worker, topics: ['orders:2'] })
    const admin = clientOf(first).admin()
    await admin.connect()
    await admin.createTopics({
      topics: [{ topic: 'made', numPartitions: 3, configEntries: [{ name: 'retention.ms', value: '12345' }] }],
    })
    await produce(first, 'orders', ['a', 'b', 'c'])
    expect(await consume(first, 'orders', 'group', 2)).toEqual(['a', 'b'])
    await admin.disconnect()
    const { topics } = await first.describe()
    await first.close()
    expect(readdirSync(dataDir)).toContain('.kafka_cleanshutdown')

    const second = await start({ dataDir, worker, topics: ['orders:2'] })
    expect(second.clusterId).toBe(first.clusterId)
    const again = (await second.describe()).topics
    expect(again.map(({ name, topicId }) => [name, topicId])).toEqual(
      topics.map(({ name, topicId }) => [name, topicId]),
    )
    const configs = clientOf(second).admin()
    await configs.connect()
    const { resources } = await configs.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: 2, name: 'made', configNames: ['retention.ms'] }],
    })
    expect(resources[0].configEntries[0]).toMatchObject({ configName: 'retention.ms', configValue: '12345' })
    expect(await configs.fetchOffsets({ groupId: 'group', topics: ['orders'] })).toMatchObject([
      { partitions: expect.arrayContaining([expect.objectContaining({ partition: 0, offset: '2' })]) },
    ])
    await configs.disconnect()
    await produce(second, 'orders', ['d'])
    expect(await consume(second, 'orders', 'group', 2)).toEqual(['c', 'd'])
  })

  it('is refused while another broker has the directory, and says who', async () => {
    const dataDir = temporaryDirectory()
    const first = await start({ dataDir, worker })
    await expect(start({ dataDir, worker })).rejects.toMatchObject({
      code: 'OTTLA_DATA_DIR_LOCKED',
      message: expect.stringContaining(`${dataDir} is in use by the broker of process ${process.pid}`),
      hint: expect.stringContaining('stop that one'),
    })
    await first.close()
    await (await start({ dataDir, worker })).close()
  })

  it('leaves the directory free when its port is taken', async () => {
    const dataDir = temporaryDirectory()
    const { port } = await start({})
    await expect(start({ dataDir, worker, port })).rejects.toMatchObject({ code: 'OTTLA_PORT_IN_USE' })
    await start({ dataDir, worker })
  })

  it('cannot be put back', async () => {
    const broker = await start({ dataDir: temporaryDirectory(), worker })
    const refused = { code: 'OTTLA_WRONG_MODE', hint: expect.stringContaining('without dataDir') }
    await expect(broker.reset()).rejects.toMatchObject(refused)
    await expect(broker.snapshot()).rejects.toMatchObject(refused)
    await expect(broker.restore({ clusterId: broker.clusterId, id: 1 })).rejects.toMatchObject(refused)
  })
})

describe('a disk that fails', () => {
  afterEach(() => vi.restoreAllMocks())

  /** Syncs of files fail, or only the next one. */
  function failSyncs(which: 'all' | 'next'): void {
    const fail = ((_: number, done: fs.NoParamCallback) => {
      setImmediate(() => done(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })))
    }) as typeof fs.fdatasync
    const spy = vi.spyOn(fs, 'fdatasync')
    if (which === 'all') spy.mockImplementation(fail)
    else spy.mockImplementationOnce(fail)
  }

  it('is told of when what the cluster decides cannot be brought to it', async () => {
    let told: (error: Error) => void = () => {}
    const fatal = new Promise<Error>(resolve => {
      told = resolve
    })
    const broker = await start({ dataDir: temporaryDirectory(), onFatal: error => told(error) })
    failSyncs('all')
    const admin = clientOf(broker).admin({ retry: { retries: 0 } })
    await admin.connect()
    const created = admin.createTopics({ topics: [{ topic: 'orders' }] }).catch(error => error)
    expect(await fatal).toMatchObject({
      code: 'OTTLA_DATA_DIR_FAILED',
      message: expect.stringContaining('EIO: i/o error, fdatasync'),
      hint: expect.stringContaining('start the broker again'),
    })
    await broker.close()
    expect(await created).toBeInstanceOf(Error)
  })

  it('is told of to whoever started several brokers', async () => {
    let told: (error: Error) => void = () => {}
    const fatal = new Promise<Error>(resolve => {
      told = resolve
    })
    const dataDir = temporaryDirectory()
    const cluster = await startCluster({ dataDir, brokers: 2, log: false, onFatal: error => told(error) })
    try {
      failSyncs('all')
      // Nobody will ever answer.
      void cluster.createTopic('orders').catch(() => {})
      expect(await fatal).toMatchObject({
        code: 'OTTLA_DATA_DIR_FAILED',
        message: expect.stringMatching(new RegExp(`${dataDir}.*EIO: i/o error, fdatasync`)),
      })
    } finally {
      vi.restoreAllMocks()
      await cluster.close()
    }
  })

  it('takes one partition offline until the broker is started again, and acknowledges nothing that is not on it', async () => {
    const dataDir = temporaryDirectory()
    const broker = await start({ dataDir, flush: 'commit', topics: ['orders', 'others'] })
    await produce(broker, 'orders', ['safe'])
    failSyncs('next')
    const producer = clientOf(broker).producer({ retry: { retries: 0 } })
    await producer.connect()
    const lost = producer.send({ topic: 'orders', messages: [{ value: 'lost' }] })
    await expect(lost).rejects.toThrow()
    // The disk is well again, and nobody knows what it has.
    await expect(producer.send({ topic: 'orders', messages: [{ value: 'refused' }] })).rejects.toThrow()
    await producer.disconnect()
    // One of its own, since kafkajs gives up on all topics of a producer when one of them has no leader.
    const other = clientOf(broker).producer()
    await other.connect()
    await other.send({ topic: 'others', messages: [{ value: 'kept' }] })
    await other.disconnect()
    await broker.close()
    expect(readdirSync(dataDir)).not.toContain('.kafka_cleanshutdown')

    const again = await start({ dataDir, flush: 'commit' })
    await produce(again, 'orders', ['more'])
    const seen = await consume(again, 'orders', 'group', 2)
    expect(seen[0]).toBe('safe')
    expect(await consume(again, 'others', 'group-2', 1)).toEqual(['kept'])
  })
})

it('refuses metadata that is damaged, says where, and moves nothing aside', async () => {
  const dataDir = temporaryDirectory()
  const first = await start({ dataDir, topics: ['orders'] })
  await first.close()
  const path = join(dataDir, '__cluster_metadata-0', `${'0'.repeat(20)}.log`)
  const bytes = readFileSync(path)
  const damaged = Uint8Array.from(bytes)
  damaged[100] ^= 4
  writeFileSync(path, damaged)
  const names = readdirSync(dataDir)
  await expect(startBroker({ log: false, dataDir })).rejects.toMatchObject({
    code: 'OTTLA_DATA_DIR_DAMAGED',
    message: expect.stringMatching(/__cluster_metadata-0\/0+\.log, at position \d+: /),
    hint: expect.stringContaining(`ottla verify ${dataDir}`),
  })
  expect(readdirSync(dataDir)).toEqual(names.filter(name => name !== '.kafka_cleanshutdown'))
  const findings = (await verifyDataDir(dataDir)).findings.filter(({ level }) => level === 'error')
  expect(findings.map(({ path }) => path)).toContain(`__cluster_metadata-0/${'0'.repeat(20)}.log`)
  writeFileSync(path, bytes)
  const again = await start({ dataDir })
  expect((await again.describe()).topics.map(({ name }) => name)).toEqual(['orders'])
})

it('refuses metadata of a cluster that is damaged', async () => {
  const dataDir = temporaryDirectory()
  const first = await startCluster({ log: false, brokers: 2, dataDir, topics: ['orders'] })
  await first.close()
  const path = join(dataDir, 'controller', '__cluster_metadata-0', `${'0'.repeat(20)}.log`)
  const bytes = readFileSync(path)
  bytes[100] ^= 4
  writeFileSync(path, bytes)
  await expect(startCluster({ log: false, brokers: 2, dataDir })).rejects.toMatchObject({
    code: 'OTTLA_DATA_DIR_DAMAGED',
    hint: expect.stringContaining(join(dataDir, 'controller')),
  })
})
