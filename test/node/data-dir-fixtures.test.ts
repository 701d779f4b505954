/** Every release opens the data directories of all releases before it: one of each is kept, with what is in it. */
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Kafka, logLevel } from 'kafkajs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startBroker } from '../../src/node/index.ts'
import { verifyDataDir } from '../../src/node/verify-data-dir.ts'
import { temporaryDirectory } from '../support/disk.ts'

const FIXTURES = fileURLToPath(new URL('../fixtures/data-dirs', import.meta.url))
const releases = readdirSync(FIXTURES, { withFileTypes: true }).filter(entry => entry.isDirectory())

interface Content {
  clusterId: string
  topics: {
    name: string
    topicId: string
    partitions: { logStartOffset: number; logEndOffset: number; leaderEpoch: number }[]
  }[]
}

async function open(version: string) {
  const dataDir = join(temporaryDirectory(), 'data')
  cpSync(join(FIXTURES, version), dataDir, { recursive: true })
  // What it holds grows old as the years go by.
  const broker = await startBroker({ dataDir, log: false, configs: { 'offsets.retention.minutes': 2 ** 31 - 1 } })
  onTestFinished(() => broker.close())
  const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })
  return { broker, kafka, dataDir }
}

it('has a directory of some release', () => {
  expect(releases.length).toBeGreaterThan(0)
})

describe.each(releases.map(({ name }) => name))('the data directory of %s', version => {
  const content: Content = JSON.parse(readFileSync(join(FIXTURES, `${version}.json`), 'utf8'))

  it('is whole', async () => {
    const { findings } = await verifyDataDir(join(FIXTURES, version))
    expect(findings).toEqual([])
  })

  it('opens with its cluster, topics, configs and offsets', async () => {
    const { broker, kafka } = await open(version)
    expect(broker.clusterId).toBe(content.clusterId)
    const { topics } = await broker.describe()
    for (const { name, topicId, partitions } of content.topics) {
      expect(topics.find(topic => topic.name === name)).toMatchObject({ topicId, partitions })
    }
    expect(topics.map(({ name }) => name)).not.toContain('gone')
    const admin = kafka.admin()
    await admin.connect()
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: 2, name: 'latest', configNames: ['max.message.bytes', 'cleanup.policy'] }],
    })
    const values = resources[0].configEntries.map(({ configName, configValue }) => [configName, configValue])
    expect(Object.fromEntries(values)).toEqual({ 'max.message.bytes': '123456', 'cleanup.policy': 'compact' })
    const [{ partitions }] = await admin.fetchOffsets({ groupId: 'billing', topics: ['orders'] })
    expect(partitions.sort((one, other) => one.partition - other.partition)).toMatchObject([
      { offset: '7', metadata: 'half way' },
      { offset: '9' },
    ])
    await admin.disconnect()
  })

  it('gives its records back, and takes more', async () => {
    const { broker, kafka, dataDir } = await open(version)
    const consumer = kafka.consumer({ groupId: 'reader', maxWaitTimeInMs: 100 })
    await consumer.connect()
    await consumer.subscribe({ topic: 'orders', fromBeginning: true })
    const seen: { partition: number; offset: string; value: string; number: string; timestamp: string }[] = []
    await new Promise<void>(resolve => {
      consumer.run({
        eachMessage: async ({ partition, message: { offset, value, headers, timestamp } }) => {
          seen.push({ partition, offset, value: String(value), number: String(headers?.number), timestamp })
          if (seen.length === 16) resolve()
        },
      })
    })
    await consumer.disconnect()
    const expected = [...Array(20).keys()]
      .map(number => ({ number, partition: number % 2, offset: Math.floor(number / 2) }))
      .filter(({ partition, offset }) => partition === 0 || offset >= 4)
      .map(({ number, partition, offset }) => ({
        partition,
        offset: `${offset}`,
        value: `value ${number}`,
        number: `${number}`,
        timestamp: `${1_700_000_000_000 + number}`,
      }))
    const inOrder = (one: (typeof seen)[0], other: (typeof seen)[0]) => Number(one.number) - Number(other.number)
    expect(seen.sort(inOrder)).toEqual(expected)
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    expect(await producer.send({ topic: 'orders', messages: [{ value: 'more', partition: 1 }] })).toMatchObject([
      { partition: 1, baseOffset: '10' },
    ])
    await producer.disconnect()
    await broker.close()
    expect(existsSync(join(dataDir, '.kafka_cleanshutdown'))).toBe(true)
    expect((await verifyDataDir(dataDir)).findings).toEqual([])
  })
})
