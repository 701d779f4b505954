/**
 * What the testing kit takes: a broker or three for a file of tests, a fresh state, a snapshot and back, with few topics and with many; and a
 * suite of a hundred tests with real clients, against the same suite on Apache Kafka.
 *
 *   node bench/testing-kit.mjs [--runs 20] [--suites 3] [--kafka]     --kafka: Apache Kafka too, from test/oracle (needs Java and Maven)
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startTestBroker, startTestCluster } from '../dist/testing/index.js'
import { median, percentile, printTable } from './support/numbers.mjs'
import { CLEAN_ENV, cpuSeconds } from './support/processes.mjs'

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    suites: { type: 'string', default: '3' },
    kafka: { type: 'boolean', default: false },
  },
})
const RUNS = Number(options.runs)
const RECORDS_PER_TOPIC = 10
const SUITE = fileURLToPath(new URL('./hundred-tests.mjs', import.meta.url))
const ORACLE = fileURLToPath(new URL('../test/oracle/kafka', import.meta.url))

console.log(`Node ${process.version}, load ${loadavg()[0].toFixed(1)} at the beginning\n`)
const rows = []
for (const topics of [10, 1000]) rows.push(...(await kit('one broker', topics, startTestBroker)))
for (const topics of [10, 100]) rows.push(...(await kit('three brokers', topics, startTestCluster)))
printTable(rows)

const suites = [await suite('Ottla (in the process of the tests), put back before each')]
if (options.kafka) suites.push(await suiteOnKafka())
console.log(`A suite of 100 tests, load ${loadavg()[0].toFixed(1)} at the end\n`)
printTable(suites)

/** The median of each call with `count` topics, 10 records in each, on what `start` gives. */
async function kit(where, count, start) {
  const topics = Array.from({ length: count }, (_, index) => `topic-${index}:1`)
  const times = { start: [], reset: [], snapshot: [], restore: [] }
  for (let run = 0; run <= RUNS; run++) {
    const broker = await timed(times.start, () => start({ topics }))
    await fill(broker, topics)
    const snapshot = await timed(times.snapshot, () => broker.snapshot())
    await timed(times.restore, () => broker.restore(snapshot))
    await fill(broker, topics)
    await timed(times.reset, () => broker.reset())
    await broker.close()
  }
  return Object.entries(times).map(([what, [, ...kept]]) => ({
    what,
    on: where,
    topics: count,
    'median ms': median(kept),
    'p95 ms': percentile(kept, 0.95),
    runs: RUNS,
  }))
}

async function fill(broker, topics) {
  const records = Array.from({ length: RECORDS_PER_TOPIC }, () => ({ key: 'key', value: 'x'.repeat(100) }))
  for (const topic of topics) await broker.topic(topic.split(':')[0]).produce(...records)
}

async function timed(times, act) {
  const began = performance.now()
  const result = await act()
  times.push(performance.now() - began)
  return result
}

/** Runs the suite on the broker at `bootstrap`, whose process is `pid`, or on one of its own. */
async function suite(what, { bootstrap, pid, startSeconds = Number.NaN } = {}) {
  const runs = []
  for (let run = 0; run < Number(options.suites); run++) {
    const env = { ...CLEAN_ENV, ...(bootstrap && { KAFKA_BOOTSTRAP: bootstrap }) }
    const [began, cpu, broker] = [performance.now(), childrenCpuSeconds(), cpuSeconds(pid)]
    const child = spawn(process.execPath, ['--test-reporter=dot', SUITE], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += chunk))
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`the suite failed on ${what}:\n${printed}`)
    runs.push({
      seconds: (performance.now() - began) / 1000,
      cpu: childrenCpuSeconds() - cpu,
      brokerCpu: cpuSeconds(pid) - broker,
    })
  }
  const of = name => median(runs.map(each => each[name]))
  return {
    what,
    'broker starts in s': startSeconds,
    'suite s': of('seconds'),
    'CPU s, tests': of('cpu'),
    'CPU s, broker': of('brokerCpu'),
    runs: runs.length,
  }
}

/** One broker for all tests and all runs, whose start is told beside. */
async function suiteOnKafka() {
  const directory = join(mkdtempSync(join(tmpdir(), 'ottla-bench-')), 'kafka')
  const port = String(20_000 + Math.floor(Math.random() * 10_000))
  const began = performance.now()
  const bootstrap = execFileSync(ORACLE, ['start', '--dir', directory, '--port', port], { encoding: 'utf8' }).trim()
  try {
    const startSeconds = (performance.now() - began) / 1000
    const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
    return await suite('Apache Kafka, names of its own for each test', { bootstrap, pid, startSeconds })
  } finally {
    execFileSync(ORACLE, ['stop', '--dir', directory])
  }
}

/** What the children of this process used that have ended. */
function childrenCpuSeconds() {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}
