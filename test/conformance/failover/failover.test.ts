/**
 * Real clients while brokers fail: each produces with acks=all and idempotence and reads in a group of two, all side by side, and a loop kills,
 * stops, pauses and cuts off the brokers that lead and coordinate. Then all is compared: see `checks.ts`.
 *
 * FAILOVER_MINUTES=10 makes it long, FAILOVER_SEED=n repeats the choices of a run, FAILOVER_CLIENTS=kafkajs,franz-go takes some clients only,
 * FAILOVER_TIMELINE=file keeps what happened, FAILOVER_WORKERS=1 gives each broker a thread of its own.
 */
import { writeFile } from 'node:fs/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { coordinatorPartition } from '../../../src/core/java-hash.ts'
import { type Configs, type RunningCluster, startCluster } from '../../../src/node/index.ts'
import { Prng } from '../../../src/util/prng.ts'
import { killChildren } from '../child.ts'
import type { FailoverClient } from '../client.ts'
import { franzGo } from '../go/franz/client.ts'
import { javaProgram } from '../java/program.ts'
import { kafkajs } from '../kafkajs/client.ts'
import { platformatic } from '../platformatic/client.ts'
import { confluentKafka } from '../python/confluent.ts'
import { removeScratch } from '../scratch.ts'
import { storedBytes, storedRecords } from '../wire.ts'
import {
  checkBeginnings,
  checkCommitted,
  checkRead,
  checkResumed,
  checkStored,
  type StoredPartitions,
  withReturns,
} from './checks.ts'
import { CommitWatch } from './commit-watch.ts'
import { causeFaults, loseRecords } from './faults.ts'
import { commitsIn } from './offsets-topic.ts'
import { Workload } from './workload.ts'

const CLIENTS = [kafkajs, platformatic, confluentKafka, franzGo, javaProgram]
const REQUIRED = process.env.OTTLA_CONFORMANCE_REQUIRED === '1'
const MINUTES = Number(process.env.FAILOVER_MINUTES ?? 0.4)
const IS_LONG = process.env.FAILOVER_MINUTES !== undefined
const SEED = Number(process.env.FAILOVER_SEED ?? Math.floor(Math.random() * 2 ** 32))
const ONLY = process.env.FAILOVER_CLIENTS?.split(',')

const PARTITIONS = 3
const OFFSETS_PARTITIONS = 5
const OFFSETS_TOPIC = '__consumer_offsets'

const probes = await Promise.all(
  CLIENTS.filter(({ name }) => ONLY?.includes(name) ?? true).map(async client => ({
    client,
    ...(await client.probe()),
  })),
)
const clients = probes.flatMap(probe => ('version' in probe ? [probe.client] : []))
for (const probe of probes) {
  if ('missing' in probe && !REQUIRED) console.warn(`failover: ${probe.client.name} is skipped: ${probe.missing}`)
}

/** Mistakes of the cluster's own. */
const fatal: Error[] = []
const logLines: string[] = []

function start(configs: Configs = {}): Promise<RunningCluster> {
  return startCluster({
    brokers: 3,
    workers: process.env.FAILOVER_WORKERS === '1',
    log: (level, message, fields) => logLines.push(`${level} ${message} ${JSON.stringify(fields)}`),
    configs: {
      'min.insync.replicas': 2,
      'auto.create.topics.enable': false,
      'offsets.topic.replication.factor': 3,
      'offsets.topic.num.partitions': OFFSETS_PARTITIONS,
      ...configs,
    },
    onFatal: error => fatal.push(error),
  })
}

/** Asks whoever leads a partition. */
async function leaderOf(cluster: RunningCluster, topic: string, partition: number): Promise<string> {
  const { host, port } = cluster.broker((await cluster.topic(topic).leader(partition)) ?? -1)
  return `${host}:${port}`
}

async function storedIn(cluster: RunningCluster, topic: string): Promise<StoredPartitions> {
  const stored = new Map()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    stored.set(partition, await storedRecords(await leaderOf(cluster, topic, partition), topic, partition))
  }
  return stored
}

async function allCommits(cluster: RunningCluster) {
  const commits = []
  for (let partition = 0; partition < OFFSETS_PARTITIONS; partition++) {
    const address = await leaderOf(cluster, OFFSETS_TOPIC, partition)
    commits.push(...commitsIn(await storedBytes(address, OFFSETS_TOPIC, partition)))
  }
  return commits
}

/** Everything that is wrong with what a client did and saw. */
async function problemsOf(cluster: RunningCluster, work: Workload, watch: CommitWatch): Promise<string[]> {
  const stored = await storedIn(cluster, work.topic)
  const commits = (await allCommits(cluster)).filter(({ group }) => group === work.group)
  const offsets = (partition: number) =>
    commits.filter(each => each.partition === partition).map(({ offset }) => offset)
  const readings = work.client.goesOnFromItsOwn ? withReturns(work.readings) : work.readings
  const problems = [
    ...checkStored(work.producer.acknowledged, stored),
    ...checkRead(readings, stored),
    ...checkResumed(readings, offsets),
    ...checkBeginnings(work.beginnings, offsets),
  ]
  if (work.client.goesOnFromItsOwn && work.beginnings.length === 0) problems.push('it does not tell where it begins')
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const seen = watch.seen(work.group, partition)
    if (seen.length === 0) problems.push(`nobody saw what was committed of partition ${partition}`)
    problems.push(...checkCommitted(offsets(partition), seen))
  }
  return problems
}

/** Starts clients side by side; resolves once all are at work. */
async function startWorks(works: Workload[], cluster: RunningCluster, those: FailoverClient[], reads = true) {
  const { bootstrapServers } = cluster
  for (const client of those) {
    const topic = `failover-${client.name.replaceAll(/[^\w-]+/g, '-')}`
    await cluster.createTopic({ name: topic, partitions: PARTITIONS, replicationFactor: 3 })
    works.push(new Workload({ client, bootstrapServers, topic, partitions: PARTITIONS, recordsPerSecond: 30, reads }))
  }
  await Promise.all(works.map(work => work.running()))
}

/** What a run leaves behind, however it ended. */
async function tell(works: Workload[], cluster: RunningCluster): Promise<void> {
  for (const work of works) console.log(work.summary())
  const file = process.env.FAILOVER_TIMELINE
  if (file) await writeFile(file, `${await cluster.timeline()}${logLines.splice(0).join('\n')}\n`)
  killChildren()
}

async function run(minutes: number, twoAtOnce: boolean): Promise<void> {
  console.log(`FAILOVER_SEED=${SEED} FAILOVER_MINUTES=${minutes}`)
  await using cluster = await start()
  const works: Workload[] = []
  try {
    await startWorks(works, cluster, clients)
    await using watch = new CommitWatch({
      bootstrapServers: cluster.bootstrapServers,
      groups: works,
      partitions: PARTITIONS,
      coordinatorOf: group => leaderOf(cluster, OFFSETS_TOPIC, coordinatorPartition(group, OFFSETS_PARTITIONS)),
    })
    const topics = works.map(({ topic }) => ({ name: topic, partitions: PARTITIONS }))
    topics.push({ name: OFFSETS_TOPIC, partitions: OFFSETS_PARTITIONS })
    const counts = await causeFaults({ cluster, random: new Prng(SEED), topics, forMs: minutes * 60_000, twoAtOnce })
    console.log([...counts].map(([name, count]) => `${count} × ${name}`).join(', '))
    for (const work of works) work.failIfEnded()
    await Promise.all(works.map(work => work.stopProducing()))
    await Promise.all(works.map(async work => work.finishReading(await storedIn(cluster, work.topic))))
    await watch.stop()
    const problems = []
    for (const work of works) {
      problems.push(...(await problemsOf(cluster, work, watch)).map(problem => `${work.client.name}: ${problem}`))
    }
    expect(fatal).toEqual([])
    expect(problems).toEqual([])
  } finally {
    await tell(works, cluster)
  }
}

/** The producers of three clients whose idempotence survives that what they sent is gone, while records are lost. */
async function runWithLosses(times: number): Promise<void> {
  await using cluster = await start({ 'min.insync.replicas': 1, 'unclean.leader.election.enable': true })
  const works: Workload[] = []
  try {
    const those = clients.filter(client => [kafkajs, franzGo, javaProgram].includes(client))
    await startWorks(works, cluster, those, false)
    const topics = works.map(({ topic }) => topic)
    await loseRecords({ cluster, random: new Prng(SEED), topics, times })
    await Promise.all(works.map(work => work.stopProducing()))
    const lost = (await cluster.events()).filter(event => event.type === 'lost')
    const problems = []
    for (const work of works) {
      const named = lost.filter(({ topic }) => topic === work.topic)
      const stored = await storedIn(cluster, work.topic)
      const found = checkStored(work.producer.acknowledged, stored, named)
      problems.push(...found.map(problem => `${work.client.name}: ${problem}`))
    }
    console.log(
      `lost: ${lost.map(({ topic, partition, from, to }) => `${topic}-${partition} ${from}–${to - 1}`).join(', ')}`,
    )
    expect(fatal).toEqual([])
    expect(problems).toEqual([])
    // Otherwise nothing was tried.
    expect(lost.length).toBeGreaterThan(0)
  } finally {
    await tell(works, cluster)
  }
}

describe('clients while brokers fail', () => {
  afterAll(() => {
    killChildren()
    removeScratch()
  })

  it('has all clients', context => {
    if (!REQUIRED) return context.skip('OTTLA_CONFORMANCE_REQUIRED is not set')
    expect(clients).toHaveLength(CLIENTS.length)
  })

  it(
    'one at a time: nothing acknowledged is lost or doubled, and groups go on',
    { timeout: MINUTES * 60_000 + 300_000 },
    () => run(MINUTES, false),
  )

  it(
    'out of sync, where the topic allows that they lead: only what the timeline names is lost',
    { timeout: 300_000 },
    () => runWithLosses(IS_LONG ? 10 : 2),
  )

  if (IS_LONG) {
    it("two at a time, with nobody's power lost: nothing acknowledged is lost or doubled", { timeout: 420_000 }, () =>
      run(2, true),
    )
  }
})
