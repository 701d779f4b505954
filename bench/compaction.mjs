/**
 * Compaction: how many MB of a log the cleaner gets through in a second, and what producers notice of it. A topic is filled while the
 * cleaner is off; then it is switched on, and meanwhile one producer sends a record to another topic every other millisecond, each in a
 * request of its own. The same without the cleaner in the same run shows what the machine itself takes, and how much the broker had
 * to wait for a core what others on it do.
 *
 *   node bench/compaction.mjs [--megabytes 100] [--runs 1] [--disk]      with several runs: medians
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import kafkajs from 'kafkajs'
import { Link } from './support/link.mjs'
import { median, percentile, printTable } from './support/numbers.mjs'
import { CLEAN_ENV, COMMAND, cpuSeconds, residentMegabytes, waitedSeconds } from './support/processes.mjs'
import { createTopic, produce, produceError, recordBatch } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '100' },
    runs: { type: 'string', default: '1' },
    disk: { type: 'boolean', default: false },
  },
})
const MEGABYTE = 1e6
const PING_MS = 2
const QUIET_MS = 3000

const WORKLOADS = [
  { what: '1 kB records, 20,000 keys', valueBytes: 1000, keys: 20_000, perBatch: 15 },
  { what: '100 B records, 200,000 keys', valueBytes: 100, keys: 200_000, perBatch: 120 },
  {
    what: '100 B records, gzip',
    valueBytes: 100,
    keys: 200_000,
    perBatch: 120,
    compression: kafkajs.CompressionTypes.GZIP,
  },
]

async function measure(workload) {
  const directory = options.disk ? mkdtempSync(join(tmpdir(), 'ottla-bench-')) : undefined
  const broker = await startBroker(directory)
  const kafka = new kafkajs.Kafka({ brokers: [`127.0.0.1:${broker.port}`], logLevel: kafkajs.logLevel.ERROR })
  const admin = kafka.admin()
  await admin.connect()
  await fill(kafka, admin, workload)
  const ping = await Ping.start(broker.port)
  await sleep(500)
  const quiet = await during(sleep(QUIET_MS), ping, broker.pid)
  const cpuBefore = cpuSeconds(broker.pid)
  const cleaned = broker.nextCleaning()
  await switchOn(admin)
  const busy = await during(cleaned, ping, broker.pid)
  const { bytesBefore, bytesAfter, ms, longest } = await cleaned
  const row = {
    what: workload.what,
    MB: bytesBefore / MEGABYTE,
    'MB left': bytesAfter / MEGABYTE,
    'MB/s': bytesBefore / MEGABYTE / (ms / 1000),
    'CPU s/GB': (cpuSeconds(broker.pid) - cpuBefore) / (bytesBefore / 1e9),
    'longest slice ms': longest,
    'p99 quiet': percentile(quiet.delays, 0.99),
    'p99 cleaning': percentile(busy.delays, 0.99),
    'max quiet': Math.max(...quiet.delays),
    'max cleaning': Math.max(...busy.delays),
    'waited quiet %': quiet.waited,
    'waited cleaning %': busy.waited,
    'memory MB': residentMegabytes(broker.pid),
  }
  ping.stop()
  await admin.disconnect()
  await broker.stop()
  if (directory !== undefined) rmSync(directory, { recursive: true })
  return row
}

/** The delays until `promise` settles, and the part of the time in which the broker waited for a core, in percent. */
async function during(promise, ping, pid) {
  const [startedAt, before] = [performance.now(), waitedSeconds(pid)]
  const delays = await ping.during(promise)
  return { delays, waited: ((waitedSeconds(pid) - before) * 1e5) / (performance.now() - startedAt) }
}

/** Several runs of one workload in one row. */
function medians(rows) {
  const row = {}
  for (const name of Object.keys(rows[0]))
    row[name] = name === 'what' ? rows[0].what : median(rows.map(each => each[name]))
  return row
}

/** A broker with its cleaner off, whose log tells when a log was cleaned. */
async function startBroker(directory) {
  const args = ['start', '--port', '0', '--log-level', 'debug', '-c', 'log.cleaner.backoff.ms=200']
  if (directory !== undefined) args.push('--data', join(directory, 'data'))
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: CLEAN_ENV })
  const waiting = []
  createInterface({ input: child.stderr }).on('line', line => {
    if (line.includes('cleaned a log partition=compacted-0')) {
      const field = name => Number(new RegExp(` ${name}=(\\d+)`).exec(line)[1])
      const [bytesBefore, bytesAfter, ms, longest] = ['bytesBefore', 'bytesAfter', 'ms', 'longestSliceMs'].map(field)
      waiting.shift()?.({ bytesBefore, bytesAfter, ms, longest })
    } else if (/ (WARN|ERROR) /.test(line)) console.error(line)
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const match = /address\s+\S+:(\d+)/.exec(line)
    if (match === null) continue
    child.stdout.resume()
    return {
      pid: child.pid,
      port: Number(match[1]),
      nextCleaning: () => new Promise(resolve => waiting.push(resolve)),
      async stop() {
        child.kill('SIGTERM')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      },
    }
  }
  throw new Error('the broker ended before it listened')
}

async function switchOn(admin) {
  const configEntries = topicConfigs('0.01')
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: 'compacted', configEntries }]
  await admin.alterConfigs({ validateOnly: false, resources })
}

/** No log is more than wholly dirty, so with a ratio of 1 none is cleaned. */
function topicConfigs(ratio) {
  return [
    { name: 'cleanup.policy', value: 'compact' },
    { name: 'min.cleanable.dirty.ratio', value: ratio },
    { name: 'segment.bytes', value: String(8 << 20) },
  ]
}

async function fill(kafka, admin, { valueBytes, keys, perBatch, compression }) {
  const configEntries = topicConfigs('1')
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic: 'compacted', numPartitions: 1, configEntries }] })
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  // Values of which a codec saves a quarter.
  const random = randomBytes(1 << 20).map(byte => byte & 0x3f)
  const records = Math.floor((Number(options.megabytes) * MEGABYTE) / (valueBytes + 30))
  for (let done = 0; done < records; ) {
    const batches = []
    for (let batch = 0; batch < 50 && done < records; batch++, done += perBatch) {
      const messages = Array.from({ length: perBatch }, () => {
        const at = Math.floor(Math.random() * (random.length - valueBytes))
        return { key: `key-${Math.floor(Math.random() * keys)}`, value: random.subarray(at, at + valueBytes) }
      })
      batches.push(producer.send({ topic: 'compacted', acks: 1, compression, messages }))
    }
    await Promise.all(batches)
  }
  await producer.disconnect()
}

/** A producer that sends one record every other millisecond, whether or not the last was answered. */
class Ping {
  #due = []
  #delays = []
  #link
  #timer

  static async start(port) {
    const ping = new Ping()
    ping.#link = await Link.open(port, '127.0.0.1')
    await ping.#link.ask(createTopic('ping', 1))
    await sleep(200)
    ping.#link.onAnswer = answer => {
      if (produceError(answer) !== 0) throw new Error(`Produce was answered with error ${produceError(answer)}`)
      ping.#delays.push(performance.now() - ping.#due.shift())
    }
    const request = produce('ping', 0, recordBatch([Buffer.alloc(100, 1)]))
    let next = performance.now()
    ping.#timer = setInterval(() => {
      // What was due while this process was held up counts from then.
      for (const now = performance.now(); next <= now; next += PING_MS) {
        ping.#due.push(next)
        ping.#link.write(request)
      }
    }, 1)
    return ping
  }

  /** The delays of what was answered until `promise` settled. */
  async during(promise) {
    this.#delays = []
    await promise
    return this.#delays
  }

  stop() {
    clearInterval(this.#timer)
    this.#link.close()
  }
}

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

const rows = []
for (const workload of WORKLOADS) {
  const runs = []
  for (let run = 0; run < Number(options.runs); run++) runs.push(await measure(workload))
  rows.push(medians(runs))
}
console.log(
  `${options.disk ? 'on disk' : 'in memory'}, Node ${process.version}; delays of produce requests in milliseconds\n`,
)
printTable(rows)
