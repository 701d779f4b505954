/**
 * How a broker stands many things: topics, partitions, connections. Times and memory of creating, listing and deleting 10,000 topics
 * of one partition and 10 topics of 1,000; memory and the 99th percentile with 1,000 connections that idle and 1,000 that ask.
 *
 *   node bench/scale.mjs [--target host:port --pid N] [--topics 10000] [--connections 1000]
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Link } from './support/link.mjs'
import { percentile, printTable } from './support/numbers.mjs'
import { cpuSeconds, residentMegabytes, startTarget } from './support/processes.mjs'
import { apiVersions, createTopics, deleteTopics, firstError, metadata } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    target: { type: 'string' },
    pid: { type: 'string' },
    topics: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '1000' },
  },
})
const topics = Number(options.topics)
const connections = Number(options.connections)
/** More topics in one request would pass Kafka's bound of 10,000 partitions. */
const TOPICS_PER_REQUEST = 500
const QUESTIONS = 20

const target = await startTarget(options)
const admin = await Link.open(target.port, target.host)
await admin.ask(metadata())
console.log(`${target.name}, Node ${process.version}\n`)
printTable([
  await manyTopics('topics of 1 partition', topics, 1),
  await manyTopics('topics of 1,000 partitions', 10, 1000),
])
printTable([await idle(), await busy()])
admin.close()
await target.stop()

async function manyTopics(what, count, partitions) {
  const names = Array.from({ length: count }, (_, index) => `scale-${partitions}-${index}`)
  const perRequest = Math.max(1, Math.floor(TOPICS_PER_REQUEST / partitions))
  const before = residentMegabytes(target.pid)
  const created = await timed(() => inRequests(names, perRequest, true, some => createTopics(some, partitions)))
  const memory = residentMegabytes(target.pid) - before
  const listed = await timed(() => admin.ask(metadata()))
  const deleted = await timed(() => inRequests(names, perRequest, false, some => deleteTopics(some)))
  return { what, count, 'create ms': created, 'list ms': listed, 'delete ms': deleted, 'memory MB': memory }
}

async function inRequests(names, perRequest, hasMessages, request) {
  for (let at = 0; at < names.length; at += perRequest) {
    const some = names.slice(at, at + perRequest)
    const error = firstError(await admin.ask(request(some)), hasMessages)
    if (error !== 0) throw new Error(`answered with error ${error}`)
  }
}

async function timed(work) {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function idle() {
  const before = residentMegabytes(target.pid)
  const links = await open()
  for (const link of links) await link.ask(apiVersions())
  const memory = residentMegabytes(target.pid) - before
  const row = { what: 'idle', connections, 'memory MB': memory, 'p50 ms': '', 'p99 ms': '', 'CPU us/request': '' }
  for (const link of links) link.close()
  return row
}

/** Every connection asks again as soon as it was answered. */
async function busy() {
  const before = residentMegabytes(target.pid)
  const cpu = cpuSeconds(target.pid)
  const links = await open()
  const took = []
  await Promise.all(
    links.map(async link => {
      for (let question = 0; question < QUESTIONS; question++) {
        const began = performance.now()
        await link.ask(apiVersions())
        took.push(performance.now() - began)
      }
    }),
  )
  const row = {
    what: 'busy',
    connections,
    'memory MB': residentMegabytes(target.pid) - before,
    'p50 ms': percentile(took, 0.5),
    'p99 ms': percentile(took, 0.99),
    'CPU us/request': ((cpuSeconds(target.pid) - cpu) * 1e6) / took.length,
  }
  for (const link of links) link.close()
  return row
}

async function open() {
  const links = []
  while (links.length < connections) {
    const more = Math.min(100, connections - links.length)
    links.push(...(await Promise.all(Array.from({ length: more }, () => Link.open(target.port, target.host)))))
  }
  return links
}
