/**
 * What a cluster costs: its start, Produce with acks=all and a replication factor of 3 beside one of 1, the memory of replicas, and what it does
 * while nobody asks for anything. Requests are
 * encoded beforehand and go out from raw sockets, one connection for each partition with five in flight, as in `throughput.mjs`.
 *
 *   node bench/cluster.mjs [--starts 5] [--megabytes 192] [--partitions 4] [--replicas 10000] [--idle 1000] [--workers] [--kafka]
 *
 * `--workers` measures starts and Produce with a thread for each broker as well.
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { askOnce, leadersOf, sleep, startKafkaCluster, startOttlaCluster } from './support/clusters.mjs'
import { Link } from './support/link.mjs'
import { median, printTable } from './support/numbers.mjs'
import { createTopic, deleteTopic, firstError, produce, produceError, recordBatch } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    starts: { type: 'string', default: '5' },
    megabytes: { type: 'string', default: '192' },
    partitions: { type: 'string', default: '4' },
    replicas: { type: 'string', default: '10000' },
    idle: { type: 'string', default: '1000' },
    workers: { type: 'boolean', default: false },
    kafka: { type: 'boolean', default: false },
  },
})
const partitions = Number(options.partitions)
const totalBytes = Number(options.megabytes) * 1e6
const IN_FLIGHT = 5
const BATCHES = [
  { recordBytes: 1000, records: 15 },
  { recordBytes: 1000, records: 250 },
]
/** Whether brokers have threads of their own. */
const THREADS = options.workers ? [false, true] : [false]
/** How long a fetch of a follower waits in Kafka; `startCluster` has its own value. */
const KAFKA_WAIT = { 'replica.fetch.wait.max.ms': 500 }
/** How long nothing is done before it is measured, and while it is. */
const [CALM_MS, IDLE_MS] = [5000, 20_000]
/** Of a topic that is made to count what a replica takes. */
const PARTITIONS_A_TOPIC = 100

console.log(`Node ${process.version}\n`)
printTable(await starts())
const produced = []
for (const workers of THREADS) produced.push(...(await produceRows(await startOttlaCluster({ brokers: 3, workers }))))
if (options.kafka) produced.push(...(await produceRows(await startKafkaCluster({ brokers: 3, configs: {} }))))
console.log(`acks=all, ${partitions} connections, ${options.megabytes} MB a row\n`)
printTable(produced)
printTable(await memoryRows())
const idle = []
for (const workers of THREADS)
  idle.push(...(await idleRows(await startOttlaCluster({ brokers: 3, workers, configs: KAFKA_WAIT }))))
if (options.kafka) idle.push(...(await idleRows(await startKafkaCluster({ brokers: 3, configs: {} }))))
printTable(idle)

async function starts() {
  const rows = []
  for (const { brokers, workers } of THREADS.flatMap(workers => [1, 3, 9].map(brokers => ({ brokers, workers })))) {
    const found = []
    for (let time = 0; time < Number(options.starts); time++) {
      const cluster = await startOttlaCluster({ brokers, workers })
      found.push({ ...cluster, resident: cluster.residentMegabytes() })
      await cluster.stop()
    }
    rows.push({
      brokers,
      threads: workers ? 'one each' : 'one',
      'start ms': median(found.map(({ startMs }) => startMs)),
      'import ms': median(found.map(({ importMs }) => importMs)),
      'resident MB': median(found.map(({ resident }) => resident)),
    })
  }
  return rows
}

async function ask({ addresses }, frame) {
  const [host, port] = addresses[0].split(':')
  return askOnce({ host, port }, frame, 60_000)
}

async function makeTopic(cluster, topic, count, replicationFactor) {
  const error = firstError(await ask(cluster, createTopic(topic, count, replicationFactor)), true)
  if (error !== 0) throw new Error(`${cluster.name}: CreateTopics was answered with error ${error}`)
  return leadersOf(cluster, topic, count)
}

/** A broker may learn later than others that it leads. */
async function leads(leader, topic, partition) {
  const request = produce(topic, partition, recordBatch([Buffer.alloc(1)]), -1)
  for (;;) {
    const answer = await askOnce(leader, request, 10_000)
    if (answer !== undefined && produceError(answer) === 0) return
    await sleep(50)
  }
}

async function produceRows(cluster) {
  const rows = []
  // The first run finds everything cold.
  await produceTo(cluster, 'warm-up', 3, BATCHES[0])
  for (const [index, batch] of BATCHES.entries()) {
    for (const replicationFactor of [1, 3]) {
      rows.push(await produceTo(cluster, `bench-${index}-${replicationFactor}`, replicationFactor, batch))
    }
  }
  await cluster.stop()
  return rows
}

async function produceTo(cluster, topic, replicationFactor, { recordBytes, records }) {
  const batch = recordBatch(Array.from({ length: records }, () => Buffer.alloc(recordBytes, 'x')))
  const requests = Math.ceil(totalBytes / batch.length / partitions)
  const bytes = requests * partitions * batch.length
  const leaders = await makeTopic(cluster, topic, partitions, replicationFactor)
  for (const [partition, leader] of leaders.entries()) await leads(leader, topic, partition)
  const [began, cpu] = [performance.now(), cluster.cpuSeconds()]
  await Promise.all(leaders.map((leader, partition) => blast(leader, produce(topic, partition, batch, -1), requests)))
  const seconds = (performance.now() - began) / 1000
  const row = {
    cluster: cluster.name,
    'replication factor': replicationFactor,
    'batch kB': batch.length / 1000,
    'MB/s': bytes / 1e6 / seconds,
    'CPU s/GB': (cluster.cpuSeconds() - cpu) / (bytes / 1e9),
  }
  await ask(cluster, deleteTopic(topic))
  return row
}

/** Sends `count` requests with {@link IN_FLIGHT} of them unanswered. */
async function blast({ host, port }, request, count) {
  let sent = 0
  let answered = 0
  await new Promise((resolve, reject) => {
    const opening = Link.open(port, host, answer => {
      const error = produceError(answer)
      if (error !== 0) reject(new Error(`Produce was answered with error ${error}`))
      if (++answered === count) opening.then(link => resolve(link.close()))
      else if (sent < count) send(opening.link)
    })
    const send = link => {
      sent++
      link.write(request)
    }
    opening.then(link => {
      opening.link = link
      while (sent < Math.min(IN_FLIGHT, count)) send(link)
    }, reject)
  })
}

/** Resident memory for replicas without records, and for records with one copy and with three. */
async function memoryRows() {
  const rows = []
  const replicas = Number(options.replicas)
  const cluster = await startOttlaCluster({ brokers: 3 })
  const before = cluster.residentMegabytes()
  const topics = Math.ceil(replicas / 3 / PARTITIONS_A_TOPIC)
  for (let index = 0; index < topics; index++) await makeTopic(cluster, `many-${index}`, PARTITIONS_A_TOPIC, 3)
  const more = cluster.residentMegabytes() - before
  const made = topics * PARTITIONS_A_TOPIC * 3
  rows.push({
    what: `${made.toLocaleString('en')} replicas, empty`,
    'resident MB more': more,
    'kB each': (more * 1024) / made,
  })
  await cluster.stop()
  for (const replicationFactor of [1, 3]) {
    const filled = await startOttlaCluster({ brokers: 3 })
    const empty = filled.residentMegabytes()
    const batch = recordBatch(Array.from({ length: 15 }, () => Buffer.alloc(1000, 'x')))
    const requests = Math.ceil(totalBytes / batch.length / partitions)
    const leaders = await makeTopic(filled, 'full', partitions, replicationFactor)
    await Promise.all(
      leaders.map((leader, partition) => blast(leader, produce('full', partition, batch, -1), requests)),
    )
    const megabytes = (requests * partitions * batch.length) / 1e6
    rows.push({
      what: `${Math.round(megabytes)} MB of records, replication factor ${replicationFactor}`,
      'resident MB more': filled.residentMegabytes() - empty,
      'kB each': Number.NaN,
    })
    await filled.stop()
  }
  return rows
}

/** What a cluster of three does when nobody asks for anything: without topics, and with partitions that are followed. */
async function idleRows(cluster) {
  const rows = []
  for (const count of [0, Number(options.idle)]) {
    for (let made = 0; made < count; made += PARTITIONS_A_TOPIC) {
      await makeTopic(cluster, `idle-${made}`, PARTITIONS_A_TOPIC, 3)
    }
    await sleep(CALM_MS)
    const [began, cpu] = [performance.now(), cluster.cpuSeconds()]
    await sleep(IDLE_MS)
    const seconds = (performance.now() - began) / 1000
    const share = ((cluster.cpuSeconds() - cpu) / seconds) * 100
    rows.push({ cluster: cluster.name, 'idle partitions': count, 'CPU % of a core': share })
  }
  await cluster.stop()
  return rows
}
