import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renderReport } from '../../src/cli/verify.ts'
import { startBroker, startCluster } from '../../src/node/index.ts'
import { verifyDataDir } from '../../src/node/verify-data-dir.ts'
import { temporaryDirectory } from '../support/disk.ts'

const LOG = '00000000000000000000.log'
let original: string

beforeAll(async () => {
  original = mkdtempSync(join(tmpdir(), 'ottla-verify-'))
  const broker = await startBroker({
    dataDir: original,
    log: false,
    topics: [{ name: 'orders', partitions: 2, configs: { 'index.interval.bytes': 100, 'segment.bytes': 1_048_576 } }],
  })
  const producer = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING }).producer({
    idempotent: true,
    maxInFlightRequests: 1,
  })
  await producer.connect()
  for (let index = 0; index < 30; index++) {
    await producer.send({ topic: 'orders', messages: [{ value: `${index}`.padEnd(100_000, 'x'), partition: 0 }] })
  }
  await producer.disconnect()
  await broker.close()
})

afterAll(() => rmSync(original, { recursive: true, force: true }))

async function verify(damage: (directory: string) => void = () => {}) {
  const directory = join(temporaryDirectory(), 'data')
  cpSync(original, directory, { recursive: true })
  damage(directory)
  const { findings, ...sums } = await verifyDataDir(directory)
  return { ...sums, said: findings.map(({ level, path, message }) => `${level} ${path}: ${message}`) }
}

function change(path: string, at: number, to: (byte: number) => number): void {
  const bytes = readFileSync(path)
  bytes[at] = to(bytes[at])
  writeFileSync(path, bytes)
}

describe('the check of a data directory', () => {
  it('finds nothing wrong after a good stop, and changes nothing', async () => {
    const { said, logs, segments, batches, bytes } = await verify()
    expect(said).toEqual([])
    expect(logs).toBe(2)
    expect(segments).toBeGreaterThanOrEqual(3)
    expect(batches).toBeGreaterThan(30)
    expect(bytes).toBeGreaterThan(3_000_000)
    expect(readdirSync(original)).toContain('.kafka_cleanshutdown')
  })

  it('names the batch with a bit that turned over', async () => {
    const { said } = await verify(directory => change(join(directory, 'orders-0', LOG), 2000, byte => byte ^ 4))
    expect(said).toEqual([
      expect.stringMatching(/^error orders-0\/0{20}\.log: the batch at byte 0, from offset 0 on, is damaged: .*crc/),
    ])
  })

  it('tells what a crash left from what was safe', async () => {
    const torn = (directory: string) => {
      const [last] = readdirSync(join(directory, 'orders-0'))
        .filter(name => name.endsWith('.log'))
        .slice(-1)
      appendFileSync(join(directory, 'orders-0', last), 'half a batch')
      rmSync(join(directory, '.kafka_cleanshutdown'))
    }
    expect((await verify(torn)).said).toEqual([
      expect.stringMatching(/^note : the broker runs, or was not stopped in good order/),
      expect.stringMatching(/^warning orders-0\/0*\d+\.log: 12 bytes from \d+ on are no batch, as a crash leaves them/),
    ])
    const cut = (directory: string) => truncateSync(join(directory, 'orders-0', LOG), 150_000)
    const { said } = await verify(cut)
    expect(said).toContainEqual(
      expect.stringMatching(/^error orders-0\/0{20}\.log: \d+ bytes from \d+ on are no batch; offsets from 1 on/),
    )
  })

  it('says that records are missing when a log ends before its recovery point', async () => {
    const { said } = await verify(directory => {
      const files = readdirSync(join(directory, 'orders-0')).filter(
        name => /^\d{20}/.test(name) && !name.startsWith('0'.repeat(20)),
      )
      for (const name of files) rmSync(join(directory, 'orders-0', name))
    })
    expect(said).toEqual([
      expect.stringMatching(/^error orders-0: it ends at \d+, and was on the disk up to 30: records are missing/),
    ])
  })

  it('holds the indexes against the segment', async () => {
    const index = LOG.replace('.log', '.index')
    const wrong = await verify(directory => change(join(directory, 'orders-0', index), 15, byte => byte + 1))
    expect(wrong.said).toEqual([expect.stringMatching(/^error orders-0\/0{20}\.index: its entry 1 leads to byte \d+/)])
    const odd = await verify(directory => appendFileSync(join(directory, 'orders-0', index), 'odd'))
    expect(odd.said).toEqual([expect.stringMatching(/^warning orders-0\/0{20}\.index: it ends within an entry/)])
    const times = await verify(directory =>
      change(join(directory, 'orders-0', LOG.replace('.log', '.timeindex')), 0, () => 1),
    )
    expect(times.said).toEqual([
      expect.stringMatching(/^error orders-0\/0{20}\.timeindex: its entry 0, time \d+ at offset/),
    ])
  })

  it('looks at what lies beside the segments', async () => {
    const { said } = await verify(directory => {
      writeFileSync(join(directory, 'orders-0/leader-epoch-checkpoint'), '0\n2\n0 0\n')
      writeFileSync(join(directory, 'orders-0/what.txt'), '')
      writeFileSync(join(directory, `orders-0/${LOG}.swap`), '')
      writeFileSync(join(directory, 'orders-0/00000000000000000999.timeindex'), '')
      writeFileSync(join(directory, 'orders-0/00000000000000000777.log.swap'), '')
      writeFileSync(join(directory, 'orders-0/00000000000000000777.index'), '')
      for (const name of readdirSync(join(directory, 'orders-0'))) {
        if (name.endsWith('.snapshot')) change(join(directory, 'orders-0', name), 9, byte => byte + 1)
      }
    })
    expect(said.map(line => line.split(':')[0]).sort()).toEqual([
      expect.stringMatching(/^note orders-0\/0{20}\.log\.swap/),
      'note orders-0/00000000000000000777.log.swap',
      'note orders-0/what.txt',
      ...said.filter(line => line.includes('.snapshot')).map(line => line.split(':')[0]),
      'warning orders-0/00000000000000000999.timeindex',
      'warning orders-0/leader-epoch-checkpoint',
    ])
    expect(
      said.filter(line => line.includes('.snapshot: what it says of producers is damaged')).length,
    ).toBeGreaterThan(0)
  })

  it('takes an empty checkpoint of epochs for what Kafka makes to begin with', async () => {
    const { said } = await verify(directory => writeFileSync(join(directory, 'orders-0/leader-epoch-checkpoint'), ''))
    expect(said).toEqual([])
  })

  it('finds logs that no topic has, and things that are nothing of Ottla', async () => {
    const { said } = await verify(directory => {
      cpSync(join(directory, 'orders-0'), join(directory, 'orders-7'), { recursive: true })
      writeFileSync(join(directory, 'orders-0/partition.metadata'), 'version: 0\ntopic_id: abcdefghijklmnopqrstuA')
      mkdirSync(join(directory, 'photos'))
    })
    expect(said).toEqual([
      expect.stringContaining('warning orders-0: it is of an earlier topic of that name'),
      expect.stringContaining('warning orders-7: no topic has it'),
      'note photos: it is nothing of Ottla',
    ])
  })

  it('says when the metadata is damaged', async () => {
    const { said } = await verify(directory =>
      change(join(directory, '__cluster_metadata-0', LOG), 70, byte => byte + 1),
    )
    expect(said).toContainEqual(
      expect.stringMatching(/__cluster_metadata-0\/0{20}\.log: the batch at byte 0, from offset 0 on, is damaged/),
    )
  })

  it.each([
    ['meta.properties', 'meta.properties: it is missing'],
    ['ottla.properties', ': it has no ottla.properties'],
  ])('misses %s', async (name, message) => {
    const { said } = await verify(directory => rmSync(join(directory, name)))
    expect(said).toContainEqual(expect.stringContaining(`error ${message}`))
  })

  it('looks no further into a newer format', async () => {
    const { said } = await verify(directory => writeFileSync(join(directory, 'ottla.properties'), 'format.version=9'))
    expect(said).toEqual([
      expect.stringMatching(/^error : its format is 9, and this release knows those up to 1; open it with/),
    ])
  })

  it('says who uses the directory, and is not disturbed', async () => {
    const directory = join(temporaryDirectory(), 'data')
    cpSync(original, directory, { recursive: true })
    const broker = await startBroker({ dataDir: directory, log: false })
    const report = await verifyDataDir(directory)
    expect(report.usedBy).toBe(`the broker of process ${process.pid}`)
    expect(report.findings.filter(({ level }) => level === 'error')).toEqual([])
    await broker.close()
    expect((await verifyDataDir(directory)).usedBy).toBeUndefined()
  })

  it('goes through all nodes of a cluster', async () => {
    const directory = join(temporaryDirectory(), 'data')
    const cluster = await startCluster({ dataDir: directory, brokers: 2, log: false, topics: ['orders:2'] })
    const kafka = new Kafka({ brokers: cluster.bootstrapServers.split(','), logLevel: logLevel.NOTHING })
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({
      topic: 'orders',
      messages: [
        { value: 'a', partition: 0 },
        { value: 'b', partition: 1 },
      ],
    })
    await producer.disconnect()
    expect((await verifyDataDir(directory)).usedBy).toBe(`the broker of process ${process.pid}`)
    await cluster.close()
    const { findings, logs } = await verifyDataDir(directory)
    expect(findings.filter(({ level }) => level !== 'note')).toEqual([])
    expect(logs).toBeGreaterThanOrEqual(3)
    const [name] = readdirSync(join(directory, 'broker-1')).filter(each => each.startsWith('orders'))
    mkdirSync(join(directory, 'broker-1', 'gone-0'))
    change(join(directory, 'broker-1', name, LOG), 65, byte => byte ^ 1)
    const said = (await verifyDataDir(directory)).findings.filter(({ level }) => level !== 'note')
    expect(said).toMatchObject([
      { level: 'warning', path: 'broker-1/gone-0', message: expect.stringContaining('no topic has it') },
      { level: 'error', path: `broker-1/${name}/${LOG}` },
    ])
  })

  it('is told in lines, with a sum', async () => {
    const sums = { logs: 1, segments: 2, batches: 1234, bytes: 5_600_000, usedBy: 'the broker of process 7' }
    const findings = [
      { level: 'note', path: 'x', message: 'it is nothing of Ottla' },
      { level: 'error', path: '', message: 'broken' },
    ] as const
    expect(renderReport({ ...sums, findings }, false)).toBe(
      'note     it is in use by the broker of process 7: what is written meanwhile may look torn\n' +
        'note     x: it is nothing of Ottla\nerror    broken\n1 log, 2 segments, 1,234 batches, 5.6 MB: 1 error, 0 warnings\n',
    )
    expect(renderReport({ ...sums, usedBy: undefined, findings }, true)).toBe(
      'error    broken\n1 log, 2 segments, 1,234 batches, 5.6 MB: 1 error, 0 warnings\n',
    )
  })
})
