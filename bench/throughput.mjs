/**
 * How much a broker takes and gives: Produce requests that were encoded beforehand, from raw sockets with five in flight
 * each, then Fetch of the same records. In the same run the same bytes go to a bare TCP sink, which is what Node and the
 * kernel can do on this machine with nothing behind it.
 *
 *   node bench/throughput.mjs [--megabytes 384] [--connections 4] [--target host:port --pid N]
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Link } from './support/link.mjs'
import { printTable } from './support/numbers.mjs'
import { cpuSeconds, residentMegabytes, startBare, startTarget } from './support/processes.mjs'
import { createTopic, deleteTopic, fetch, produce, produceError, readFetch, recordBatch } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '384' },
    connections: { type: 'string', default: '4' },
    target: { type: 'string' },
    pid: { type: 'string' },
  },
})
const connections = Number(options.connections)
const totalBytes = Number(options.megabytes) * 1e6
const IN_FLIGHT = 5
const CASES = [
  { recordBytes: 100, records: 140 },
  { recordBytes: 1000, records: 15 },
  { recordBytes: 100, records: 2200 },
  { recordBytes: 1000, records: 250 },
]

const target = await startTarget(options)
const sink = await startBare('sink')
const admin = await Link.open(target.port, target.host)
// The first run finds everything cold: code that was never compiled, memory that was never touched.
await measure({ recordBytes: 1000, records: 15 }, 'warm-up')
const rows = []
for (const [index, each] of CASES.entries()) rows.push(...(await measure(each, `bench-${index}`)))
console.log(`${target.name}, Node ${process.version}, ${connections} connections, ${options.megabytes} MB a row\n`)
printTable(rows)
console.log(`resident memory of the broker after it: ${Math.round(residentMegabytes(target.pid))} MB`)
admin.close()
await target.stop()
await sink.stop()

async function measure({ recordBytes, records }, topic) {
  const batch = recordBatch(Array.from({ length: records }, () => Buffer.alloc(recordBytes, 'x')))
  const requests = Math.ceil(totalBytes / batch.length / connections)
  const bytes = requests * connections * batch.length
  await admin.ask(createTopic(topic, connections))
  await ready(topic)
  const run = async (name, pid, work) => {
    const [began, cpu] = [performance.now(), cpuSeconds(pid)]
    await work()
    const seconds = (performance.now() - began) / 1000
    return {
      what: name,
      'record B': recordBytes,
      'batch kB': batch.length / 1000,
      'MB/s': bytes / 1e6 / seconds,
      'records/s': (requests * connections * records) / seconds,
      'CPU s/GB': (cpuSeconds(pid) - cpu) / (bytes / 1e9),
    }
  }
  const rows = [
    await run('bare sink', sink.pid, () =>
      forEachConnection(partition => pour(produce(topic, partition, batch), requests)),
    ),
    await run('produce', target.pid, () =>
      forEachConnection(partition => blast(produce(topic, partition, batch), requests)),
    ),
    await run('fetch', target.pid, () => forEachConnection(partition => drink(topic, partition, requests * records))),
  ]
  await admin.ask(deleteTopic(topic))
  return rows
}

/** A topic is there a moment before its partitions have leaders everywhere. */
async function ready(topic) {
  for (let partition = 0; partition < connections; ) {
    const { error } = readFetch(await admin.ask(fetch(topic, partition, 0, 1024, 0)))
    if (error === 0) partition++
    else await new Promise(resolve => setTimeout(resolve, 20))
  }
}

function forEachConnection(work) {
  return Promise.all(Array.from({ length: connections }, (_, partition) => work(partition)))
}

/** Writes `count` requests and waits until the sink has counted them. */
async function pour(request, count) {
  const socket = connect({ port: sink.port, host: sink.host, noDelay: true })
  for (let sent = 0; sent < count; sent++) {
    if (!socket.write(request)) await once(socket, 'drain')
  }
  socket.end()
  const [said] = await once(socket, 'data')
  if (Number(said) !== request.length * count) throw new Error(`the sink counted ${said}`)
}

/** Sends `count` requests with {@link IN_FLIGHT} of them unanswered. */
function blast(request, count) {
  return new Promise((resolve, reject) => {
    let sent = 0
    let answered = 0
    const opening = Link.open(target.port, target.host, answer => {
      const error = produceError(answer)
      if (error !== 0) reject(new Error(`Produce was answered with error ${error}`))
      if (++answered === count) {
        opening.then(link => link.close())
        resolve()
      } else if (sent < count) send()
    })
    const send = () => {
      sent++
      opening.link.write(request)
    }
    opening.then(link => {
      opening.link = link
      while (sent < Math.min(IN_FLIGHT, count)) send()
    }, reject)
  })
}

/** Reads a partition from its beginning until `count` records came, a megabyte at a time. */
async function drink(topic, partition, count) {
  const link = await Link.open(target.port, target.host)
  let offset = 0
  let read = 0
  while (read < count) {
    const { error, nextOffset, count: more } = readFetch(await link.ask(fetch(topic, partition, offset, 1 << 20, 500)))
    if (error !== 0) throw new Error(`Fetch was answered with error ${error}`)
    read += more
    offset = nextOffset ?? offset
  }
  link.close()
}
