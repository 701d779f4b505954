/**
 * How long a client cannot write when a leader ends: from the end of the leader to the first record that is acknowledged again, with acks=all, a
 * replication factor of 3 and two in-sync replicas at the least. The client is a bare one: it asks for the leader again every few milliseconds.
 *
 *   node bench/failover.mjs [--rounds 9] [--session-ms 1000] [--kafka]
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { askOnce, look, sleep, startKafkaCluster, startOttlaCluster } from './support/clusters.mjs'
import { median, printTable } from './support/numbers.mjs'
import { createTopic, firstError, produce, produceError, recordBatch } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    'session-ms': { type: 'string', default: '1000' },
    kafka: { type: 'boolean', default: false },
  },
})
const rounds = Number(options.rounds)
const sessionMs = Number(options['session-ms'])
const TOPIC = 'failover'
const PAUSE_MS = 3
const configs = {
  'broker.session.timeout.ms': sessionMs,
  'broker.heartbeat.interval.ms': sessionMs / 5,
  'replica.lag.time.max.ms': 2000,
  'replica.fetch.wait.max.ms': 100,
  'min.insync.replicas': 2,
}
const record = recordBatch([Buffer.alloc(100, 'x')])

const rows = await measure(await startOttlaCluster({ brokers: 3, configs }))
if (options.kafka) rows.push(...(await measure(await startKafkaCluster({ brokers: 3, configs }))))
console.log(`Node ${process.version}, broker.session.timeout.ms=${sessionMs}, ${rounds} rounds\n`)
printTable(rows)

async function measure(cluster) {
  const { addresses } = cluster
  const [host, port] = addresses[0].split(':')
  const created = await askOnce({ host, port }, createTopic(TOPIC, 1, 3), 30_000)
  if (firstError(created, true) !== 0) throw new Error(`${cluster.name}: the topic was not made`)
  const rows = []
  for (const [what, act] of [
    ['killed', cluster.kill],
    ['stopped in good order', cluster.stopBroker],
  ]) {
    const times = []
    for (let round = 0; round < rounds; round++) {
      times.push(await failover(cluster, act))
      if (process.stderr.isTTY) process.stderr.write(`${cluster.name}: ${Math.round(times.at(-1))} ms\n`)
    }
    const [min, max] = [Math.min(...times), Math.max(...times)]
    rows.push({
      cluster: cluster.name,
      'the leader is': what,
      'median ms': median(times),
      'min ms': min,
      'max ms': max,
    })
  }
  await cluster.stop()
  return rows
}

/** Ends the leader, and starts it again when it was replaced. */
async function failover(cluster, act) {
  await written(cluster)
  const leader = (await look(cluster, TOPIC)).leaders[0]
  const began = performance.now()
  const ended = act(leader)
  await written(cluster, leader)
  const time = performance.now() - began
  await ended
  await cluster.restart(leader)
  // Long enough for it to be in sync again.
  await written(cluster)
  await sleep(2000 + sessionMs)
  return time
}

/** Resolves once a record was acknowledged, by another broker than `except`. */
async function written(cluster, except) {
  for (;;) {
    const { addresses, leaders } = await look(cluster, TOPIC, except)
    const leader = addresses.get(leaders[0])
    if (leader !== undefined && leaders[0] !== except) {
      const answer = await askOnce(leader, produce(TOPIC, 0, record, -1), 5000)
      if (answer !== undefined && produceError(answer) === 0) return
    }
    await sleep(PAUSE_MS)
  }
}
