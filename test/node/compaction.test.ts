/** Real clients on a compacted topic: they find their way over the holes, and a broker that is started again on its data directory too. */
import { join } from 'node:path'
import { CompressionTypes, Kafka, logLevel } from 'kafkajs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startBroker } from '../../src/node/index.ts'
import { verifyDataDir } from '../../src/node/verify-data-dir.ts'
import { temporaryDirectory } from '../support/disk.ts'

const TOPIC = 'compacted'
const KEYS = 20
const ROUNDS = 12

async function start(dataDir?: string) {
  const broker = await startBroker({
    dataDir,
    log: false,
    configs: { 'log.cleaner.backoff.ms': 100 },
    topics: [
      {
        name: TOPIC,
        partitions: 1,
        configs: {
          'cleanup.policy': 'compact',
          'internal.segment.bytes': '2000',
          'min.cleanable.dirty.ratio': '0.01',
          'file.delete.delay.ms': '0',
        },
      },
    ],
  })
  onTestFinished(() => broker.close())
  const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })
  return { broker, kafka }
}

/** Every key again and again, by two producers of which one is idempotent; key-0 is deleted in the end. */
async function fill(kafka: Kafka): Promise<void> {
  const plain = kafka.producer()
  const idempotent = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await Promise.all([plain.connect(), idempotent.connect()])
  for (let round = 0; round < ROUNDS; round++) {
    const producer = round % 2 === 0 ? plain : idempotent
    const compression = round % 3 === 0 ? CompressionTypes.GZIP : CompressionTypes.None
    const messages = Array.from({ length: KEYS }, (_, key) => ({
      key: `key-${key}`,
      value: key === 0 && round === ROUNDS - 1 ? null : `${round}`,
    }))
    await producer.send({ topic: TOPIC, acks: -1, compression, messages })
  }
  // The active segment is left alone.
  await plain.send({ topic: TOPIC, messages: [{ key: 'last', value: 'x'.repeat(1500) }] })
  await Promise.all([plain.disconnect(), idempotent.disconnect()])
}

/** What a new reader gets, until the end of the log. */
async function read(kafka: Kafka): Promise<{ offset: number; key: string; value: string | null }[]> {
  const admin = kafka.admin()
  await admin.connect()
  const [{ high }] = await admin.fetchTopicOffsets(TOPIC)
  await admin.disconnect()
  const consumer = kafka.consumer({ groupId: `reader-${Math.random()}` })
  await consumer.connect()
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
  const found: { offset: number; key: string; value: string | null }[] = []
  await new Promise<void>(resolve => {
    consumer.run({
      async eachMessage({ message: { offset, key, value } }) {
        found.push({ offset: Number(offset), key: String(key), value: value === null ? null : String(value) })
        if (Number(offset) === Number(high) - 1) resolve()
      },
    })
  })
  await consumer.disconnect()
  return found
}

const FIRST = (ROUNDS - 1) * KEYS

function expected(): { offset: number; key: string; value: string | null }[] {
  const round = String(ROUNDS - 1)
  return [
    ...Array.from({ length: KEYS }, (_, key) => ({
      offset: FIRST + key,
      key: `key-${key}`,
      value: key === 0 ? null : round,
    })),
    { offset: FIRST + KEYS, key: 'last', value: 'x'.repeat(1500) },
  ]
}

it.each(['in memory', 'on disk'])('kafkajs reads a log that was compacted %s', { timeout: 60_000 }, async where => {
  const dataDir = where === 'on disk' ? join(temporaryDirectory(), 'data') : undefined
  const { broker, kafka } = await start(dataDir)
  await fill(kafka)
  await vi.waitFor(async () => expect(await read(kafka)).toEqual(expected()), { timeout: 30_000, interval: 200 })
  if (dataDir === undefined) return
  await broker.close()
  const { findings } = await verifyDataDir(dataDir)
  expect(findings.filter(({ level }) => level !== 'note')).toEqual([])
  const again = await start(dataDir)
  expect(await read(again.kafka)).toEqual(expected())
})
