/**
 * What a test pays for, in the ways that docs/guides/coming-from.md compares: a broker, a clean state, a record sent by a producer that
 * is opened and closed, one there and back in a new group, and a group whose last member was killed.
 * With kafkajs as it is by default, apart from how often it says that it lives.
 *
 *   node bench/coming-from.mjs [--runs 15] [--kafka]     --kafka: Apache Kafka too, from test/oracle (needs Java and Maven)
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import kafkajs from 'kafkajs'
import { startTestBroker } from '../dist/testing/index.js'
import { median, printTable } from './support/numbers.mjs'

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '15' },
    kafka: { type: 'boolean', default: false },
    member: { type: 'string' },
  },
})
const RUNS = Number(options.runs)
const ORACLE = fileURLToPath(new URL('../test/oracle/kafka', import.meta.url))
/** The shortest that Kafka takes by default (`group.min.session.timeout.ms`). */
const SESSION_TIMEOUT_MS = 6000
let names = 0

if (options.member === undefined) await compare()
else await beMember(...options.member.split(' '))

async function compare() {
  const rows = [await measureOttla()]
  if (options.kafka) rows.push(await measureKafka())
  console.log(`Node ${process.version}, medians in ms, load ${loadavg()[0].toFixed(1)}\n`)
  printTable(rows)
}

async function measureOttla() {
  const start = await repeated(RUNS, async () => (await startTestBroker({ topics: ['orders:3'] })).close())
  const broker = await startTestBroker({ topics: ['orders:3'] })
  const cleanState = await repeated(RUNS, () => broker.reset())
  const row = {
    what: 'ottla/testing',
    start,
    'clean state': cleanState,
    ...(await measureClients(broker.bootstrapServers)),
  }
  await broker.close()
  return row
}

async function measureKafka() {
  const directory = join(mkdtempSync(join(tmpdir(), 'ottla-bench-')), 'kafka')
  const began = performance.now()
  const port = String(20_000 + Math.floor(Math.random() * 10_000))
  const bootstrap = execFileSync(ORACLE, ['start', '--dir', directory, '--port', port], { encoding: 'utf8' }).trim()
  const start = performance.now() - began
  try {
    const admin = kafkaOf(bootstrap).admin()
    await admin.connect()
    const cleanState = await repeated(RUNS, () => createTopic(admin))
    await admin.disconnect()
    return { what: 'Apache Kafka', start, 'clean state': cleanState, ...(await measureClients(bootstrap)) }
  } finally {
    execFileSync(ORACLE, ['stop', '--dir', directory])
  }
}

async function measureClients(bootstrap) {
  const admin = kafkaOf(bootstrap).admin()
  await admin.connect()
  const sentTo = await createTopic(admin)
  const sent = await repeated(RUNS, () => send(bootstrap, sentTo))
  const there = await repeated(RUNS, async () => thereAndBack(bootstrap, await createTopic(admin)))
  const killed = await repeated(3, async () => afterKill(bootstrap, await createTopic(admin)))
  await admin.disconnect()
  return { 'record sent': sent, 'record there and back': there, 'after a member was killed': killed }
}

/** The median of what `act` takes, or of what it says that it took; the first warms up. */
async function repeated(runs, act) {
  const times = []
  for (let run = 0; run <= runs; run++) {
    const began = performance.now()
    const told = await act()
    times.push(typeof told === 'number' ? told : performance.now() - began)
  }
  return median(times.slice(1))
}

function kafkaOf(bootstrap) {
  return new kafkajs.Kafka({ brokers: [bootstrap], clientId: 'test', logLevel: kafkajs.logLevel.NOTHING })
}

async function createTopic(admin) {
  const topic = `orders-${process.pid}-${names++}`
  await admin.createTopics({ topics: [{ topic, numPartitions: 3, replicationFactor: 1 }], waitForLeaders: true })
  return topic
}

async function send(bootstrap, topic) {
  const producer = kafkaOf(bootstrap).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic, messages: [{ key: 'ada', value: 'one book' }] })
  await producer.disconnect()
}

/** A consumer that calls `onMessage` for each record. */
async function joinGroup(bootstrap, topic, onMessage) {
  const consumer = kafkaOf(bootstrap).consumer({
    groupId: topic,
    sessionTimeout: SESSION_TIMEOUT_MS,
    heartbeatInterval: 500,
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async () => onMessage() })
  return consumer
}

/** What the client takes to go away is left out. */
async function thereAndBack(bootstrap, topic) {
  const began = performance.now()
  await send(bootstrap, topic)
  const { promise, resolve } = withResolvers()
  const consumer = await joinGroup(bootstrap, topic, resolve)
  await promise
  const took = performance.now() - began
  await consumer.disconnect()
  return took
}

/** From the end of a process with the only member until the next member has the record that the first did not commit. */
async function afterKill(bootstrap, topic) {
  const member = spawn(process.execPath, [fileURLToPath(import.meta.url), '--member', `${bootstrap} ${topic}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(member.stdout, 'data')
  member.kill('SIGKILL')
  await once(member, 'exit')
  return thereAndBack(bootstrap, topic)
}

async function beMember(bootstrap, topic) {
  await joinGroup(bootstrap, topic, () => {})
  console.log('joined')
}

function withResolvers() {
  let resolve
  const promise = new Promise(settle => (resolve = settle))
  return { promise, resolve }
}
