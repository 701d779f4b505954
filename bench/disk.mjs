/**
 * What a data directory costs: produce and fetch beside memory mode in the same run; acknowledgements that wait for the disk, with
 * 1, 10 and 100 producers, beside a bare fdatasync; how long until a broker is up again after a good stop and after SIGKILL.
 *
 *   node bench/disk.mjs [--only rates,fsync,start,partitions,memory] [--dir /tmp] [--megabytes 384] [--gigabytes 1]
 *                       [--target host:port --pid N]      another broker for the rates, such as Apache Kafka
 *
 * `memory` is not run unless it is asked for: it writes --gigabytes and says what the broker holds in memory with so much on its disk.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Link } from './support/link.mjs'
import { blast, drink, ready } from './support/load.mjs'
import { percentile, printTable } from './support/numbers.mjs'
import { cpuSeconds, residentMegabytes, startTarget } from './support/processes.mjs'
import { apiVersions, createTopic, deleteTopic, fetch, produce, readFetch, recordBatch } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'rates,fsync,start,partitions' },
    dir: { type: 'string', default: tmpdir() },
    megabytes: { type: 'string', default: '384' },
    gigabytes: { type: 'string', default: '1' },
    target: { type: 'string' },
    pid: { type: 'string' },
  },
})
const CONNECTIONS = 4
const SECTIONS = { rates, fsync, start, partitions, memory }
const root = mkdtempSync(join(options.dir, 'ottla-bench-'))
process.on('exit', () => rmSync(root, { recursive: true, force: true }))

console.log(`Node ${process.version}, data in ${options.dir}\n`)
for (const name of options.only.split(',')) await SECTIONS[name]()

/** Every section has a directory of its own. */
function directory(name) {
  return join(root, name)
}

async function rates() {
  const rows = []
  const ways = [
    ['memory', []],
    ['disk, flush os', ['--data', directory('os')]],
    ['disk, flush commit', ['--data', directory('commit'), '--flush', 'commit']],
  ]
  for (const [name, args] of ways) rows.push(...(await ratesOf(await startTarget({}, ...args), name)))
  if (options.target !== undefined) rows.push(...(await ratesOf(await startTarget(options), options.target)))
  console.log(`produce and fetch, ${CONNECTIONS} connections, ${options.megabytes} MB a row\n`)
  printTable(rows)
}

async function ratesOf(target, name) {
  const admin = await Link.open(target.port, target.host)
  const rows = []
  for (const [index, records] of [15, 15, 250].entries()) {
    const topic = `rates-${index}-${process.pid}`
    const batch = recordBatch(Array.from({ length: records }, () => Buffer.alloc(1000, 'x')))
    const requests = Math.ceil((Number(options.megabytes) * 1e6) / batch.length / CONNECTIONS)
    await admin.ask(createTopic(topic, CONNECTIONS))
    await ready(admin, topic, CONNECTIONS)
    const bytes = requests * CONNECTIONS * batch.length
    const on = work => Promise.all(Array.from({ length: CONNECTIONS }, (_, partition) => work(partition)))
    const row = { what: name, 'batch kB': batch.length / 1000 }
    for (const [what, work] of [
      ['produce', partition => blast(target, produce(topic, partition, batch), requests)],
      ['fetch', partition => drink(target, topic, partition, requests * records)],
    ]) {
      const [began, cpu] = [performance.now(), cpuSeconds(target.pid)]
      await on(work)
      row[`${what} MB/s`] = bytes / 1e3 / (performance.now() - began)
      row[`${what} CPU s/GB`] = (cpuSeconds(target.pid) - cpu) / (bytes / 1e9)
    }
    // The first finds everything cold.
    if (index > 0) rows.push(row)
    await admin.ask(deleteTopic(topic))
  }
  admin.close()
  await target.stop()
  return rows
}

async function fsync() {
  const target = await startTarget({}, '--data', directory('fsync'), '--flush', 'commit')
  const admin = await Link.open(target.port, target.host)
  await admin.ask(createTopic('fsync', 1))
  await ready(admin, 'fsync', 1)
  const batch = recordBatch([Buffer.alloc(1000, 'x')])
  await blast(target, produce('fsync', 0, batch), 500, 1)
  const rows = [bareSyncs(batch)]
  for (const producers of [1, 10, 100]) {
    const waits = []
    const began = performance.now()
    const until = began + 3000
    const produceUntil = async () => {
      const link = await Link.open(target.port, target.host)
      while (performance.now() < until) {
        const asked = performance.now()
        await link.ask(produce('fsync', 0, batch))
        waits.push(performance.now() - asked)
      }
      link.close()
    }
    await Promise.all(Array.from({ length: producers }, produceUntil))
    const perSecond = waits.length / ((performance.now() - began) / 1000)
    rows.push({
      what: `${producers} producers, one record each at a time`,
      'a second': perSecond,
      'p50 ms': percentile(waits, 0.5),
      'p99 ms': percentile(waits, 0.99),
    })
  }
  admin.close()
  await target.stop()
  console.log('acknowledged once on the disk (flush commit, one partition)\n')
  printTable(rows)
}

/** What the disk gives: the same bytes written and synced one after the other. */
function bareSyncs(bytes) {
  const file = openSync(join(root, 'bare'), 'w')
  const waits = []
  const began = performance.now()
  while (performance.now() < began + 2000) {
    const asked = performance.now()
    writeSync(file, bytes)
    fdatasyncSync(file)
    waits.push(performance.now() - asked)
  }
  closeSync(file)
  return {
    what: 'bare write and fdatasync',
    'a second': waits.length / 2,
    'p50 ms': percentile(waits, 0.5),
    'p99 ms': percentile(waits, 0.99),
  }
}

async function start() {
  const data = directory('start')
  const batch = recordBatch(Array.from({ length: 15 }, () => Buffer.alloc(1000, 'x')))
  const requests = Math.ceil((Number(options.gigabytes) * 1e9) / batch.length / CONNECTIONS)
  const fill = async target => {
    const admin = await Link.open(target.port, target.host)
    await admin.ask(createTopic('big', CONNECTIONS))
    await ready(admin, 'big', CONNECTIONS)
    admin.close()
    const each = (_, partition) => blast(target, produce('big', partition, batch), requests)
    await Promise.all(Array.from({ length: CONNECTIONS }, each))
  }
  const what = `${options.gigabytes} GB in ${CONNECTIONS} partitions`
  const rows = [await timed('an empty directory', () => startTarget({}, '--data', directory('empty')), 0)]
  let target = await startTarget({}, '--data', data)
  await fill(target)
  await target.kill()
  rows.push(await timed(`${what}, after SIGKILL`, () => startTarget({}, '--data', data), CONNECTIONS, 'big'))
  rows.push(await timed(`${what}, after a good stop`, () => startTarget({}, '--data', data), CONNECTIONS, 'big'))
  target = await startTarget({}, '--data', data)
  await target.stop()
  rmSync(data, { recursive: true })
  console.log('milliseconds from the start of the process\n')
  printTable(rows)
}

async function partitions() {
  const data = directory('partitions')
  const count = 1000
  let target = await startTarget({}, '--data', data)
  const admin = await Link.open(target.port, target.host)
  await admin.ask(createTopic('many', count))
  await ready(admin, 'many', count)
  const batch = recordBatch(Array.from({ length: 15 }, () => Buffer.alloc(1000, 'x')))
  const began = performance.now()
  for (let partition = 0; partition < count; partition++) await admin.ask(produce('many', partition, batch))
  const firstMs = performance.now() - began
  admin.close()
  await target.kill()
  const open = () => startTarget({}, '--data', data)
  const rows = [await timed(`${count} partitions, after SIGKILL`, open, count, 'many')]
  rows.push(await timed(`${count} partitions, after a good stop`, open, count, 'many'))
  target = await open()
  const stopped = performance.now()
  await target.stop()
  console.log(`the first record of each of ${count} partitions took ${Math.round(firstMs)} ms`)
  console.log(`a good stop when nothing was written took ${Math.round(performance.now() - stopped)} ms\n`)
  printTable(rows)
}

/** Starts, asks, and stops: until the first answer, and until a record of every partition was read. */
async function timed(what, begin, count, topic) {
  const began = performance.now()
  const target = await begin()
  const link = await Link.open(target.port, target.host)
  await link.ask(apiVersions())
  const answered = performance.now() - began
  for (let partition = 0; partition < count; partition++) {
    const { error } = readFetch(await link.ask(fetch(topic, partition, 0, 1024, 0)))
    if (error !== 0) throw new Error(`Fetch was answered with error ${error}`)
  }
  const read = performance.now() - began
  const memory = residentMegabytes(target.pid)
  link.close()
  const stopping = performance.now()
  await target.stop()
  return {
    what,
    'first answer': answered,
    'every partition read': count === 0 ? Number.NaN : read,
    'memory MB': memory,
    'stop ms': performance.now() - stopping,
  }
}

async function memory() {
  const target = await startTarget({}, '--data', directory('memory'))
  const admin = await Link.open(target.port, target.host)
  await admin.ask(createTopic('memory', CONNECTIONS))
  await ready(admin, 'memory', CONNECTIONS)
  const batch = recordBatch(Array.from({ length: 250 }, () => Buffer.alloc(1000, 'x')))
  const gigabytes = Number(options.gigabytes)
  const steps = 5
  const requests = Math.ceil((gigabytes * 1e9) / batch.length / CONNECTIONS / steps)
  const rows = []
  for (let step = 1; step <= steps; step++) {
    const each = (_, partition) => blast(target, produce('memory', partition, batch), requests)
    await Promise.all(Array.from({ length: CONNECTIONS }, each))
    rows.push({ 'GB on the disk': (gigabytes * step) / steps, 'memory MB': residentMegabytes(target.pid) })
  }
  await drink(target, 'memory', 0, requests * steps * 250)
  rows.push({ 'GB on the disk': 'one partition read', 'memory MB': residentMegabytes(target.pid) })
  admin.close()
  await target.stop()
  console.log('resident memory of the broker\n')
  printTable(rows)
}
