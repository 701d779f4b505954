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
import { blast, drink, ready } from './support/load.mjs'
import { printTable } from './support/numbers.mjs'
import { cpuSeconds, residentMegabytes, startBare, startTarget } from './support/processes.mjs'
import { createTopic, deleteTopic, produce, recordBatch } from './support/wire.mjs'

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
  await ready(admin, topic, connections)
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
      forEachConnection(partition => blast(target, produce(topic, partition, batch), requests)),
    ),
    await run('fetch', target.pid, () =>
      forEachConnection(partition => drink(target, topic, partition, requests * records)),
    ),
  ]
  await admin.ask(deleteTopic(topic))
  return rows
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
