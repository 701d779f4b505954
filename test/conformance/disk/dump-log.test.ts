/**
 * What Ottla writes to a disk, read by Kafka's own DumpLogSegments: batches with their records, indexes held against them, the
 * snapshots of producers; and the other way round, a partition that Kafka wrote, opened by Ottla.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Kafka, logLevel } from 'kafkajs'
import { expect, it } from 'vitest'
import { Log } from '../../../src/log/log.ts'
import { DEFAULT_LOG_CONFIG } from '../../../src/log/log-config.ts'
import { LogDirectory } from '../../../src/log/log-directory.ts'
import { readTopicId } from '../../../src/log/partition-metadata.ts'
import { CODEC_NAMES } from '../../../src/records/compression.ts'
import { buildEndTransactionMarker } from '../../../src/records/control.ts'
import { utf8Decode } from '../../../src/util/utf8.ts'
import { VirtualEnv } from '../../../src/util/virtual-env.ts'
import { diskForTests } from '../../support/disk.ts'
import { batchOf, platform, readAll } from '../../support/log.ts'

const ORACLE = fileURLToPath(new URL('../../oracle/kafka', import.meta.url))
const NOW = 1_700_000_000_000
const run = promisify(execFile)

/** The name of a partition's directory: the tool takes it apart. */
const DIRECTORY = 'orders-0'

/** A log of several segments with all that a log can have, closed. */
async function writeLog() {
  const disk = diskForTests()
  const { env, storage } = disk
  const config = { ...DEFAULT_LOG_CONFIG, segmentBytes: 8_000, indexIntervalBytes: 500 }
  const log = Log.open({ storage, directory: DIRECTORY, config, env, platform })
  let epoch = 0
  const write = (batch: Uint8Array, origin: 'client' | 'coordinator' = 'client') =>
    log.appendAsLeader(batch, { leaderEpoch: epoch, now: NOW, origin })
  const times = Array.from({ length: 300 }, (_, index) => NOW - 3_000_000 + ((index * 7919) % 5000) * 100)
  env.event(() => {
    for (const [index, timestamp] of times.entries()) {
      if (index % 100 === 99) epoch++
      const records = [0, 1, 2].map(each => ({
        key: null,
        value: new TextEncoder().encode(`value ${index}.${each} ${'x'.repeat(index % 90)}`),
        timestamp: timestamp + each,
      }))
      write(
        batchOf(records, {
          codec: CODEC_NAMES[index % CODEC_NAMES.length],
          producerId: index % 3,
          producerEpoch: 0,
          baseSequence: Math.floor(index / 3) * 3,
        }),
      )
      if (index % 10 === 5) transact(write, 1000 + (index % 20), index % 20 === 5 ? 'ABORT' : 'COMMIT', index)
    }
    // One that stays open.
    write(batchOf(['open'], { producerId: 2000, producerEpoch: 3, baseSequence: 0, isTransactional: true }))
    log.updateHighWatermark(log.logEndOffset)
  })
  expect(await disk.settled(log.close())).toBeUndefined()
  await disk.settled(storage.close())
  return { disk, log, directory: join(disk.root, DIRECTORY) }
}

const sequences = new Map<number, number>()

function transact(
  write: (batch: Uint8Array, origin?: 'client' | 'coordinator') => unknown,
  producerId: number,
  type: 'COMMIT' | 'ABORT',
  index: number,
): void {
  const baseSequence = sequences.get(producerId) ?? 0
  sequences.set(producerId, baseSequence + 2)
  write(batchOf([`t${index}`, 'x'], { producerId, producerEpoch: 0, baseSequence, isTransactional: true }))
  write(
    buildEndTransactionMarker({ type, coordinatorEpoch: 4, producerId, producerEpoch: 0, timestamp: NOW }),
    'coordinator',
  )
}

async function dump(directory: string, names: string[], ...options: string[]): Promise<string> {
  const files = names.map(name => join(directory, name)).join(',')
  const { stdout, stderr } = await run(ORACLE, ['tool', 'dump-log', ...options, '--files', files], {
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout + stderr
}

const COMPLAINTS = /mismatch|corrupt|out of order|not found|exception|invalid|failed|isvalid: false/i

it('writes what dump-log reads without a complaint', async () => {
  const { directory, log } = await writeLog()
  const names = readdirSync(directory)
  const of = (suffix: string) => names.filter(name => name.endsWith(suffix))
  expect(of('.log').length).toBeGreaterThan(3)
  expect([of('.index').length, of('.timeindex').length]).toEqual([of('.log').length, of('.log').length])
  expect(of('.txnindex').length).toBeGreaterThan(1)

  const records = await dump(directory, of('.log'), '--deep-iteration', '--print-data-log')
  expect(records).not.toMatch(COMPLAINTS)
  const payloads = [...records.matchAll(/payload: (value \d+\.\d)/g)].map(match => match[1])
  expect(payloads).toEqual(Array.from({ length: 900 }, (_, index) => `value ${Math.floor(index / 3)}.${index % 3}`))
  expect([...records.matchAll(/endTxnMarker: (\w+)/g)].length).toBe(30)
  const offsets = [...records.matchAll(/^\| offset: (\d+)/gm)].map(match => Number(match[1]))
  expect(offsets).toEqual(Array.from({ length: log.logEndOffset }, (_, offset) => offset))

  const indexes = [...of('.index'), ...of('.timeindex')]
  expect(await dump(directory, indexes, '--index-sanity-check')).not.toMatch(COMPLAINTS)
  const positions = await dump(directory, of('.index'), '--verify-index-only')
  expect(positions).not.toMatch(COMPLAINTS)
  const entries = await dump(directory, indexes)
  expect(entries).not.toMatch(COMPLAINTS)
  expect([...entries.matchAll(/^offset: \d+ position: \d+/gm)].length).toBeGreaterThan(30)
  expect([...entries.matchAll(/^timestamp: \d+ offset: \d+/gm)].length).toBeGreaterThan(8)

  const aborted = await dump(directory, of('.txnindex'))
  expect(aborted).not.toMatch(COMPLAINTS)
  expect(
    [...aborted.matchAll(/producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)/g)].map(
      ([, ...numbers]) => numbers.map(Number),
    ),
  ).toEqual(
    log.abortedTransactions().map(each => [each.producerId, each.firstOffset, each.lastOffset, each.lastStableOffset]),
  )
})

it('writes snapshots of producers in which Kafka finds what it keeps itself', async () => {
  const { directory, log } = await writeLog()
  const [newest] = readdirSync(directory)
    .filter(name => name.endsWith('.snapshot'))
    .slice(-1)
  expect(newest).toBe(`${String(log.logEndOffset).padStart(20, '0')}.snapshot`)
  const text = await dump(directory, [newest])
  expect(text).not.toMatch(COMPLAINTS)
  const lines = [
    ...text.matchAll(
      /producerId: (\d+) producerEpoch: (-?\d+) coordinatorEpoch: (-?\d+) currentTxnFirstOffset: \S*?(-?\d+|empty)\S* lastTimestamp: (-?\d+) firstSequence: (-?\d+) lastSequence: (-?\d+) lastOffset: (-?\d+)/g,
    ),
  ].map(([, ...words]) => words.map(word => (word === 'empty' ? -1 : Number(word))))
  // The last line of each producer counts.
  const found = new Map(lines.map(([producerId, ...rest]) => [producerId, rest]))
  expect(found.size).toBe(log.producers().length)
  for (const producer of log.producers()) {
    const last = producer.batches.at(-1)
    expect(found.get(producer.producerId)).toEqual([
      producer.producerEpoch,
      producer.coordinatorEpoch,
      producer.currentTransactionFirstOffset,
      producer.lastTimestamp,
      last?.firstSequence,
      last?.lastSequence,
      last?.lastOffset,
    ])
  }
})

it('opens a partition that Kafka wrote, as it lies there while Kafka runs, and after it stopped', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ottla-kafka-'))
  try {
    const { stdout } = await run(ORACLE, ['start', '--dir', directory, '--port', '20719'])
    await produceTo(stdout.trim())
    // What a kill would leave: nothing was closed, and the files of indexes are longer than what is in them.
    cpSync(join(directory, 'data'), join(directory, 'killed'), { recursive: true })
    const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
    process.kill(pid, 'SIGTERM')
    while (isAlive(pid)) await new Promise(resolve => setTimeout(resolve, 100))
    for (const name of ['killed', 'data']) {
      const found = await openThere(join(directory, name), name === 'data')
      expect({ name, ...found }).toMatchObject({
        name,
        values: Array.from({ length: 3000 }, (_, index) => `${index}`),
        topicId: expect.stringMatching(/^[\w-]{22}$/),
        segments: 4,
        warnings: [],
      })
      expect(found.producers).toHaveLength(2)
      expect(found.aborted).toMatchObject([{ firstOffset: 3000, lastOffset: 3001 }])
      expect(found.epochs).toEqual({ leaderEpoch: 0, endOffset: 3002 })
      expect(found.byTime?.timestamp).toBeGreaterThanOrEqual(found.askedTime)
    }
  } finally {
    await run(ORACLE, ['stop', '--dir', directory])
    rmSync(directory, { recursive: true, force: true })
  }
}, 300_000)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** 3000 records of an idempotent producer in several segments, and a transaction that is aborted. */
async function produceTo(server: string): Promise<void> {
  const kafka = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const configEntries = [
    { name: 'segment.bytes', value: '1048576' },
    { name: 'index.interval.bytes', value: '500' },
  ]
  await admin.createTopics({ topics: [{ topic: 'orders', numPartitions: 1, configEntries }] })
  await admin.disconnect()
  const producer = kafka.producer({ idempotent: true })
  await producer.connect()
  for (let base = 0; base < 3000; base += 100) {
    const messages = Array.from({ length: 100 }, (_, index) => ({
      value: String(base + index).padEnd(1000),
      timestamp: String(NOW + base + index),
    }))
    await producer.send({ topic: 'orders', messages })
  }
  await producer.disconnect()
  const transactional = kafka.producer({ transactionalId: 'orders', idempotent: true, maxInFlightRequests: 1 })
  await transactional.connect()
  const transaction = await transactional.transaction()
  await transaction.send({ topic: 'orders', messages: [{ value: 'aborted' }] })
  await transaction.abort()
  await transactional.disconnect()
}

async function openThere(root: string, wasClosed: boolean) {
  const disk = diskForTests({ root })
  const { storage } = disk
  const env = new VirtualEnv()
  const before = new LogDirectory({ storage, env, keepsTopicIds: false })
  before.foundClosed(wasClosed)
  const log = before.open(DIRECTORY, undefined, { config: DEFAULT_LOG_CONFIG, platform })
  const records = readAll(log, 0).slice(0, 3000)
  const askedTime = NOW + 1234
  const result = {
    values: records.map(({ value }) => utf8Decode(value ?? new Uint8Array()).trim()),
    topicId: readTopicId(storage, DIRECTORY),
    segments: log.segmentCount,
    producers: log.producers(),
    aborted: log.abortedTransactions(),
    epochs: log.endOffsetForEpoch(0),
    askedTime,
    byTime: log.offsetForTimestamp(askedTime),
    warnings: env.lines.filter(({ level }) => level !== 'info'),
  }
  log.abandon()
  await disk.settled(storage.close())
  return result
}
