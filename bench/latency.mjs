/**
 * How long a record takes from the producer to the consumer: one producer that sends a record of 100 bytes at a steady rate,
 * each in a request of its own, and one consumer that waits in Fetch. Time counts from when a record was due to be sent, so
 * that a stall counts for all who wait behind it. A bare TCP echo at the same rate in the same run shows what the machine
 * itself takes for a round trip.
 *
 *   node bench/latency.mjs [--seconds 10] [--rates 200,5000] [--target host:port --pid N]
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Link } from './support/link.mjs'
import { percentile, printTable } from './support/numbers.mjs'
import { cpuSeconds, startBare, startTarget } from './support/processes.mjs'
import { createTopic, fetch, onlyValue, produce, produceError, readFetch, recordBatch } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rates: { type: 'string', default: '200,5000' },
    target: { type: 'string' },
    pid: { type: 'string' },
  },
})
const seconds = Number(options.seconds)
const TOPIC = 'bench-latency'
const WARM_UP_SECONDS = 2

const target = await startTarget(options)
const echo = await startBare('echo')
const admin = await Link.open(target.port, target.host)
await admin.ask(createTopic(TOPIC, 1))
while (readFetch(await admin.ask(fetch(TOPIC, 0, 0, 1024, 0))).error !== 0) await sleep(20)
admin.close()

const rows = []
for (const rate of options.rates.split(',').map(Number)) {
  rows.push({ what: 'bare echo', ...(await measureEcho(rate)) })
  rows.push({ what: 'produce to consume', ...(await measureBroker(rate)) })
}
console.log(`${target.name}, Node ${process.version}, ${seconds} s a row, milliseconds\n`)
printTable(rows)
await target.stop()
await echo.stop()

async function measureBroker(rate) {
  const delays = []
  const producer = await Link.open(target.port, target.host, answer => {
    if (produceError(answer) !== 0) throw new Error(`Produce was answered with error ${produceError(answer)}`)
  })
  let offset = await endOffset()
  const consumer = await Link.open(target.port, target.host, answer => {
    const now = performance.now()
    const { error, records, nextOffset } = readFetch(answer)
    if (error !== 0) throw new Error(`Fetch was answered with error ${error}`)
    for (let at = 0; at < records.length; at += 12 + records.readInt32BE(at + 8)) {
      delays.push(now - onlyValue(records.subarray(at)).readDoubleBE(0))
    }
    offset = nextOffset ?? offset
    poll()
  })
  const poll = () => consumer.write(fetch(TOPIC, 0, offset, 1 << 20, 500))
  poll()
  const cpu = cpuSeconds(target.pid)
  await atRate(rate, due => {
    const value = Buffer.alloc(100, 'x')
    value.writeDoubleBE(due)
    producer.write(produce(TOPIC, 0, recordBatch([value])))
  })
  await arrived(delays, rate)
  const used = cpuSeconds(target.pid) - cpu
  producer.close()
  consumer.close()
  return figures(rate, delays, used)
}

async function measureEcho(rate) {
  const delays = []
  const link = await Link.open(echo.port, echo.host, answer => delays.push(performance.now() - answer.readDoubleBE(0)))
  const cpu = cpuSeconds(echo.pid)
  await atRate(rate, due => {
    const frame = Buffer.alloc(204)
    frame.writeInt32BE(200)
    frame.writeDoubleBE(due, 4)
    link.write(frame)
  })
  await arrived(delays, rate)
  const used = cpuSeconds(echo.pid) - cpu
  link.close()
  return figures(rate, delays, used)
}

function figures(rate, delays, cpu) {
  const measured = delays.slice(rate * WARM_UP_SECONDS)
  return {
    'rate/s': rate,
    p50: percentile(measured, 0.5),
    p99: percentile(measured, 0.99),
    max: percentile(measured, 1),
    records: measured.length,
    'CPU %': (100 * cpu) / (seconds + WARM_UP_SECONDS),
  }
}

/** Calls `send` at a steady rate, with the time at which each was due. */
async function atRate(rate, send) {
  const began = performance.now()
  const total = rate * (seconds + WARM_UP_SECONDS)
  for (let sent = 0; sent < total; ) {
    const due = began + (sent * 1000) / rate
    const wait = due - performance.now()
    if (wait <= 0) {
      send(due)
      sent++
    } else await (wait > 1.5 ? sleep(wait - 1) : new Promise(resolve => setImmediate(resolve)))
  }
}

/** Those that come late count, too: a broker that cannot keep up is given time to catch up. */
async function arrived(delays, rate) {
  const deadline = performance.now() + 30_000
  while (delays.length < rate * (seconds + WARM_UP_SECONDS)) {
    if (performance.now() > deadline) throw new Error('not all records arrived within 30 s')
    await sleep(10)
  }
}

/** Where the partition ends: what one reads to its end goes on there. */
async function endOffset() {
  const link = await Link.open(target.port, target.host)
  let offset = 0
  for (;;) {
    const { nextOffset } = readFetch(await link.ask(fetch(TOPIC, 0, offset, 8 << 20, 0)))
    if (nextOffset === undefined) break
    offset = nextOffset
  }
  link.close()
  return offset
}

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}
