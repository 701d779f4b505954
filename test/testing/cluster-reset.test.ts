/** A cluster that is put back: what is other than with one broker. What is the same is in reset.test.ts. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startTestCluster, type TestCluster } from '../../src/testing/index.ts'
import { adminOf, atEnd, consumerOf, producerOf, startThree, until } from './support.ts'

async function startForTests(options: Parameters<typeof startTestCluster>[0] = {}): Promise<TestCluster> {
  const cluster = await startTestCluster({ log: false, ...options })
  atEnd(() => cluster.close())
  return cluster
}

const names = ({ topics }: Awaited<ReturnType<TestCluster['describe']>>) =>
  topics.filter(({ internal }) => !internal).map(({ name }) => name)

describe.each([
  ['in this thread', false],
  ['in worker threads', true],
])('a cluster that is reset, %s', (_, workers) => {
  it('is whole again, whatever was the matter with it, and on the same ports', { timeout: 60_000 }, async () => {
    const cluster = await startForTests({ topics: ['orders:3'], workers })
    const { bootstrapServers } = cluster
    await cluster.topic('other').produce({ value: 'a' })
    await cluster.broker(1).kill({ powerLoss: true })
    await cluster.broker(2).pause()
    await cluster.link(3, 'controller').cut()
    await cluster.link(2, 3).slow(1000)
    const fault = await cluster.fault({ api: 'Produce', drop: true })
    const events: string[] = []
    cluster.onEvent(({ type }) => events.push(type))
    await cluster.reset()
    expect(cluster.bootstrapServers).toBe(bootstrapServers)
    const description = await cluster.describe()
    expect(names(description)).toEqual(['orders'])
    expect(description.brokers.map(({ state }) => state)).toEqual(['running', 'running', 'running'])
    await cluster.settled()
    expect((await cluster.topic('orders').isr(2)).toSorted()).toEqual([1, 2, 3])
    await cluster.topic('orders').produce({ key: 'k', value: 'after' })
    const producer = await producerOf(cluster)
    await producer.send({ topic: 'orders', acks: -1, messages: [{ value: 'from a client' }] })
    expect((await cluster.topic('orders').records({ count: 2 })).length).toBe(2)
    expect(await fault.count()).toBe(0)
    // Three brokers that were let in, and nothing from before.
    const told = await cluster.events()
    expect(told.filter(({ type }) => type === 'action')).toEqual([])
    expect(told.length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThanOrEqual(told.length)
  })
})

it('begins with higher leader epochs and other topic ids at each reset', async () => {
  const cluster = await startForTests({ topics: ['orders:1'] })
  const seen: { topicId: string; leaderEpoch: number }[] = []
  for (let round = 0; round < 3; round++) {
    const [{ topicId, partitions }] = (await cluster.describe()).topics
    seen.push({ topicId, leaderEpoch: partitions[0].leaderEpoch })
    await cluster.leaderMoves('orders')
    await cluster.reset()
  }
  expect(new Set(seen.map(({ topicId }) => topicId)).size).toBe(3)
  expect(seen[1].leaderEpoch).toBeGreaterThan(seen[0].leaderEpoch + 1)
  expect(seen[2].leaderEpoch).toBeGreaterThan(seen[1].leaderEpoch + 1)
})

it('is over before the cluster is closed', async () => {
  const cluster = await startForTests({ topics: ['orders:1'] })
  const resetting = cluster.reset()
  await cluster.close()
  await resetting
})

it('may be asked for several times at once', async () => {
  const cluster = await startForTests({ topics: ['orders:1'] })
  const [, snapshot] = await Promise.all([cluster.reset(), cluster.snapshot(), cluster.reset()])
  await cluster.restore(snapshot)
  await cluster.topic('orders').produce({ value: 'a' })
  expect((await cluster.topic('orders').records()).length).toBe(1)
})

describe('a cluster that is restored', () => {
  it('has the leaders, in-sync replicas, records and groups that it had, and none of what came later', async () => {
    const cluster = await startForTests({ topics: ['orders:3'] })
    const producer = await producerOf(cluster)
    const send = (value: string) =>
      producer.send({ topic: 'orders', messages: [0, 1, 2].map(partition => ({ partition, value })) })
    await send('seed')
    const reader = await consumerOf(cluster, { groupId: 'billing', topic: 'orders' })
    await cluster.group('billing').drained()
    await reader.consumer.stop()
    const orders = cluster.topic('orders')
    await cluster.leaderMoves('orders')
    await cluster.settled()
    const placed = () =>
      Promise.all([0, 1, 2].map(async index => [await orders.leader(index), await orders.isr(index)]))
    const before = await placed()
    const seeded = await cluster.snapshot()
    for (let round = 0; round < 2; round++) {
      await cluster.leaderMoves('orders')
      await send('later')
      await cluster.topic('later').create({ partitions: 1 })
      await cluster.broker(1).kill({ powerLoss: true })
      await cluster.restore(seeded)
      expect(await placed()).toEqual(before)
      await expect(orders.records()).resolves.toHaveLength(3)
      expect(names(await cluster.describe())).toEqual(['orders'])
      const billing = await cluster.group('billing').view()
      expect([billing.members.length, billing.partitions.length]).toEqual([0, 3])
      expect(await cluster.group('billing').lag()).toBe(0)
    }
    await send('after')
    const admin = await adminOf(cluster)
    expect((await admin.fetchTopicOffsets('orders')).map(({ high }) => high)).toEqual(['2', '2', '2'])
    // What was decided before the snapshot is no news.
    const told = await cluster.events()
    expect(told.filter(({ type }) => type !== 'broker')).toEqual([
      { type: 'action', at: expect.any(Number), what: 'restored to snapshot 1' },
    ])
  })

  it('has all brokers run, and whoever lacked records gets them', async () => {
    const cluster = await startForTests({ topics: ['orders:1'] })
    const orders = cluster.topic('orders')
    await orders.produce({ value: 'a' })
    const follower = ((await orders.replicas()) as number[])[1]
    await cluster.broker(follower).kill({ powerLoss: true })
    await cluster.settled()
    await orders.produce({ value: 'b' })
    const without = await cluster.snapshot()
    await cluster.reset()
    await cluster.restore(without)
    await cluster.settled()
    expect((await orders.isr()).toSorted()).toEqual([1, 2, 3])
    await cluster.broker((await orders.leader()) as number).kill()
    expect((await orders.records({ count: 2 })).map(({ value }) => value)).toEqual(['a', 'b'])
  })

  it('takes an idempotent producer as it has come to be, and knows it again when a broker is started again', async () => {
    const cluster = await startThree({ topics: ['orders:1'] })
    const { kafkaOf } = await import('./support.ts')
    const producer = kafkaOf(cluster).producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    atEnd(() => producer.disconnect())
    const send = (value: string) => producer.send({ topic: 'orders', acks: -1, messages: [{ value }] })
    await send('a')
    const seeded = await cluster.snapshot()
    await send('b')
    await send('c')
    await cluster.restore(seeded)
    await send('d')
    await cluster.broker((await cluster.topic('orders').leader()) as number).kill()
    await cluster.settled()
    await send('e')
    const { values } = await consumerOf(cluster, { groupId: 'billing', topic: 'orders' })
    await until(() => values.length >= 3, 'the records')
    expect(values).toEqual(['a', 'd', 'e'])
  })
})

it('is for clusters in memory', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'ottla-'))
  atEnd(() => rm(dataDir, { recursive: true }))
  const cluster = await startForTests({ dataDir, brokers: 1 })
  for (const act of ['reset', 'snapshot'] as const) {
    await expect(cluster[act]()).rejects.toMatchObject({ code: 'OTTLA_WRONG_MODE' })
  }
  await cluster.close()
  await expect(cluster.reset()).rejects.toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
})
