/** The HTTP side of a cluster over real sockets: which brokers run, what is under-replicated, and what each broker does. */

import { Kafka, logLevel } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { type ClusterOptions, startCluster } from '../../src/node/index.ts'
import { fetchPath } from './support.ts'

const start = (options: ClusterOptions = {}) =>
  startCluster({ topics: ['orders:3'], http: true, log: false, ...options })

describe('/healthz of a cluster', () => {
  it('says which brokers run, what is under-replicated, and what nobody leads', async () => {
    const alone = { name: 'alone', partitions: 1, replicationFactor: 1 }
    await using cluster = await start({ topics: ['orders:1', alone] })
    await cluster.settled()
    const health = () => fetchPath(cluster.http as string, '/healthz')
    const all = ['broker 1 running', 'broker 2 running', 'broker 3 running']
    const lines = async () => (await health()).body.trimEnd().split('\n')
    expect(await health()).toMatchObject({ status: 200 })
    expect(await lines()).toEqual(['ok', ...all])

    const only = (await cluster.topic('alone').leader()) as number
    const other = (only % 3) + 1
    await cluster.broker(other).kill()
    expect(await lines()).toContain(`broker ${other} killed`)
    await cluster.settled()
    expect(await health()).toMatchObject({ status: 200 })
    const without = (id: number, state: string) =>
      all.map(line => (line.includes(`${id}`) ? `broker ${id} ${state}` : line))
    expect(await lines()).toEqual([
      'degraded',
      ...without(other, 'killed, fenced'),
      'orders-0 has 2 of 3 replicas in sync',
    ])

    await cluster.broker(other).restart()
    await cluster.settled()
    expect(await lines()).toEqual(['ok', ...all])
    await cluster.broker(only).pause()
    await cluster.settled()
    expect(await health()).toMatchObject({ status: 503 })
    expect(await lines()).toEqual([
      'unavailable',
      ...without(only, 'paused, fenced'),
      'orders-0 has 2 of 3 replicas in sync',
      'alone-0 has no leader',
    ])
  })
})

describe.each([
  ['in this thread', false],
  ['in worker threads', true],
])('/metrics of a cluster, %s', (_, workers) => {
  it('tells what all know once, and what each broker does under its id', { timeout: 60_000 }, async () => {
    await using cluster = await start({ workers, topics: ['orders:1'] })
    const kafka = new Kafka({ brokers: cluster.bootstrapServers.split(','), logLevel: logLevel.NOTHING })
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic: 'orders', acks: -1, messages: [{ value: 'a' }, { value: 'b' }] })
    await producer.disconnect()
    const admin = kafka.admin()
    await admin.connect()
    await admin.setOffsets({ groupId: 'billing', topic: 'orders', partitions: [{ partition: 0, offset: '1' }] })
    await admin.disconnect()
    const leader = (await cluster.topic('orders').leader()) as number
    const lines = async () => (await fetchPath(cluster.http as string, '/metrics')).body.split('\n')
    const told = await lines()
    for (const line of [
      'kafka_brokers 3',
      'kafka_topic_partition_current_offset{topic="orders",partition="0"} 2',
      'kafka_topic_partition_in_sync_replica{topic="orders",partition="0"} 3',
      'kafka_topic_partition_under_replicated_partition{topic="orders",partition="0"} 0',
      'kafka_consumergroup_lag{consumergroup="billing",topic="orders",partition="0"} 1',
      `kafka_server_brokertopicmetrics_messagesin_total{broker="${leader}",topic="orders"} 2`,
      `kafka_network_requestmetrics_requests_total{broker="${leader}",request="Produce"} 1`,
    ]) {
      expect(told).toContain(line)
    }
    expect(told.filter(line => line.startsWith('kafka_topic_partition_leader{topic="orders"'))).toHaveLength(1)
    const sizes = told.filter(line =>
      /^kafka_log_log_size\{broker="\d",topic="orders",partition="0"\} [1-9]/.test(line),
    )
    expect(sizes).toHaveLength(3)
    expect(told.filter(line => line.startsWith('ottla_connections{broker='))).toHaveLength(3)

    await cluster.broker(leader).kill()
    await cluster.settled()
    const later = await lines()
    expect(later).toContain('kafka_brokers 2')
    expect(later).toContain('kafka_topic_partition_under_replicated_partition{topic="orders",partition="0"} 1')
    expect(later.filter(line => line.startsWith('ottla_connections{broker='))).toHaveLength(2)
  })
})

it('describes the cluster, and is gone with it', async () => {
  const cluster = await start({ brokers: 2 })
  const base = cluster.http as string
  const described = JSON.parse((await fetchPath(base, '/describe')).body)
  expect(described).toMatchObject({
    clusterId: cluster.clusterId,
    brokers: cluster.brokers.map(({ id, port }) => ({ brokerId: id, port, state: 'running' })),
    topics: [{ name: 'orders', partitions: [{ partition: 0 }, { partition: 1 }, { partition: 2 }] }],
  })
  expect(await fetchPath(base, '/control/describe')).toMatchObject({ status: 404 })
  const { port } = new URL(base)
  await expect(start({ http: { port: Number(port) } })).rejects.toMatchObject({ code: 'OTTLA_PORT_IN_USE' })
  await cluster.close()
  await expect(fetchPath(base, '/healthz')).rejects.toThrow()
  await using without = await startCluster({ brokers: 1, log: false })
  expect(without.http).toBeUndefined()
})

it('tells clients the host that was advertised', async () => {
  await using cluster = await start({ brokers: 2, advertised: 'localhost', http: false })
  expect(cluster.bootstrapServers).toBe(cluster.brokers.map(({ port }) => `localhost:${port}`).join(','))
  const admin = new Kafka({ brokers: [`127.0.0.1:${cluster.brokers[0].port}`], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  const { brokers } = await admin.describeCluster()
  expect(brokers.map(({ host }) => host)).toEqual(['localhost', 'localhost'])
  await admin.disconnect()
})
